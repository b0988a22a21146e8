// kubebox: one executable that is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kwok and kubectl, chosen by the name it is started under
// (symlink) or by its first argument; "pki DIR" writes throw-away certificates.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	holdLifeline()
	name := filepath.Base(os.Args[0])
	if !run(name) {
		if len(os.Args) > 1 {
			os.Args = os.Args[1:]
			if run(os.Args[0]) {
				return
			}
		}
		fmt.Fprintln(os.Stderr, "usage: kubebox etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubectl|pki ...")
		os.Exit(2)
	}
}

func component(c *cobra.Command) { os.Exit(cli.Run(c)) }

func run(name string) bool {
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		component(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		component(kcm.NewControllerManagerCommand())
	case "kube-scheduler":
		component(scheduler.NewSchedulerCommand())
	case "kwok":
		kwok()
	case "kubectl":
		logs.GlogSetter(kubectlcmd.GetLogVerbosity(os.Args))
		if err := cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	case "pki":
		if len(os.Args) != 2 {
			return false
		}
		if err := writePKI(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		return false
	}
	return true
}

func kwok() {
	// component-base puts a non-bool "version" flag on the process-wide flag set; cobra would trip over it
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	fs := pflag.NewFlagSet("global", pflag.ContinueOnError)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	fs.Usage = func() {}
	ctx := kwoksignals.SetupSignalContext()
	ctx, _ = kwoklog.InitFlags(ctx, fs)
	ctx, err := kwokconfig.InitFlags(ctx, fs)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c := kwokcmd.NewCommand(ctx)
	c.PersistentFlags().AddFlagSet(fs)
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
