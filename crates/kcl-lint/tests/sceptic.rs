//! Rules that guess, before programs on which a guess is easily wrong: what is no secret, no amount of Kubernetes, not deprecated
//! and not unreachable is not found; what is one is found.
#![allow(clippy::unwrap_used)]

use kcl::{Compiler, MemoryFiles, Request};
use kcl_lint::{Config, Input, lint};

fn findings(rule: &str, files: &[(&str, &str)]) -> Vec<String> {
    let mut memory = MemoryFiles::default();
    files.iter().for_each(|(path, text)| memory.add(format!("/m/{path}"), *text));
    let request = Request { work_dir: "/m".into(), ..Request::paths(["main.k"]) };
    let compiler = Compiler::new(&memory);
    let analysis = compiler.analyse(&request);
    assert!(analysis.diagnostics.is_empty(), "{files:?}\n{:?}", analysis.diagnostics);
    let index = analysis.index.as_ref().unwrap();
    let (program, package) = (&analysis.program, analysis.program.main);
    let input = Input {
        program,
        package,
        index,
        homes: &analysis.homes,
        is_program: true,
        errors: &analysis.diagnostics,
    };
    let found = lint(&input, &Config::default());
    found.into_iter().filter(|found| found.rule.id == rule).map(|found| found.message).collect()
}

/// Judges programs of one file; tells all that are judged wrongly.
fn judge(rule: &str, clean: &[&str], found: &[&str]) {
    let count = |text: &&&str| findings(rule, &[("main.k", text)]).len();
    let wrong: Vec<&&str> = clean.iter().filter(|text| count(text) > 0).collect();
    let missed: Vec<&&str> = found.iter().filter(|text| count(text) == 0).collect();
    assert!(wrong.is_empty() && missed.is_empty(), "{rule}\nwrongly found: {wrong:#?}\nmissed: {missed:#?}");
    let twice = |text: &&&str| {
        let mut told = findings(rule, &[("main.k", text)]);
        told.sort();
        told.windows(2).any(|pair| pair[0] == pair[1])
    };
    let twice: Vec<&&str> = found.iter().filter(twice).collect();
    assert!(twice.is_empty(), "{rule}: told twice: {twice:#?}");
    assert!(clean.len() + found.len() >= 12, "{rule}: too few programs");
}

#[test]
fn secrets() {
    let clean = [
        "secretName = \"registry-credentials-01\"\n",
        "imagePullSecret = \"registry-cred-2\"\n",
        "secretStore = \"vault-backend-01\"\n",
        "tokenPath = \"/var/run/secrets/token1\"\n",
        "passwordFile = \"/run/secrets/db-password1\"\n",
        "tokenUrl = \"https://login.example.org/oauth2/token\"\n",
        "credentialsProvider = \"aws-provider-v2\"\n",
        "secretProviderClass = \"azure-keyvault-provider-1\"\n",
        "grant = {tokenType = \"OAuth2ClientCredentials\"}\n",
        "passwordPolicy = \"atLeast12CharsAndOneDigit\"\n",
        "password = option(\"password\")\n",
        "password = \"ref://db/password?version=3\"\n",
        "password = \"\\${PASSWORD_OF_DB_01}x\"\n",
        "password = \"$(DB_PASSWORD_01_main)\"\n",
        "token = \"{{ .Values.token.V1 }}\"\n",
        "password = \"changeme\"\n",
        "secret = {key = \"db-password-01\", name = \"db-secrets-01\"}\n",
        "secretKey = \"database-password-01\"\n",
        "alphabet = \"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\"\n",
        "image = \"nginx@sha256:9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de\"\n",
        "id = \"123e4567-e89b-12d3-a456-426614174000\"\n",
        "integrity = \"sha512-Zk3vQ9xL2mN8pR5tY7wB1cD4fG6hJ0sAZk3vQ9xL2mN8pR5tY7wB1cD4fG6hJ0sA==\"\n",
        "sum = \"h1:Zk3vQ9xL2mN8pR5tY7wB1cD4fG6hJ0sAZk3vQ9xL2m=\"\n",
        "caBundle = \"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJrVENCK3dJSkFKWjNrMjF4eTV6UU1BMEc=\"\n",
        "key = \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\"\n",
        "publicKey = \"AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\"\n",
        "kind = \"MutatingWebhookConfigurationV1Beta1ForIstioRevisionTag2\"\n",
        "path = \"apis/apps/v1/namespaces/Default/deployments/MyApp1/status\"\n",
        "name = \"a-very-long-name-of-a-Service-in-Zone-1-of-Region-EU-West-2\"\n",
        "label = \"app.kubernetes.io/managed-by\"\n",
        "role = \"arn:aws:iam::123456789012:role/eks-Cluster-NodeInstanceRole-A1\"\n",
        "ami = \"ami-0abcdef1234567890\"\n",
        "tokenExpiry = \"2026-11-17T09:00:00Z\"\n",
        "pattern = \"^[A-Za-z0-9+/]{32,256}={0,2}$\"\n",
    ];
    let found = [
        "password = \"q8Xz2LmV7rTn4KpWs9Bd\"\n",
        "db = {password = \"Tr0ub4dor&3xKq9\"}\n",
        "schema S:\n    apiKey: str = \"9f8a7b6c5d4e3f2a1b0c\"\n",
        "k = \"AKIAIOSFODNN7EXAMPLE\"\n",
        "k = \"ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2\"\n",
        "k = \"Zk3vQ9xL2mN8pR5tY7wB1cD4fG6hJ0sA\"\n",
        "k = \"-----BEGIN RSA PRIVATE KEY-----\\nMIIE\"\n",
        "k = \"LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFcEFJQkFBS0NBUUVB\"\n",
        "aws = {secretKey = \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\"}\n",
        "jwt = \"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U\"\n",
        "client.secret = \"8Q~kL2.vT9xZ-4mWq7Rb\"\n",
    ];
    judge("secret-in-source", &clean, &found);
}

#[test]
fn amounts() {
    let clean = [
        "vm = {cpu = \"4 cores\", memory = \"16GB\"}\n",
        "memory = \"1 GB\"\n",
        "laptop = {memory = \"32GB\", storage = \"1TB SSD\"}\n",
        "limits = {cpu = \"100m\", memory = \"1Gi\"}\n",
        "limits = {cpu = \"0.5\", memory = \"128974848\"}\n",
        "limits = {cpu = \".5\", memory = \"1e3\"}\n",
        "limits = {cpu = \"+2\", memory = \"1.5Gi\"}\n",
        "limits = {cpu = 2, memory = 1Gi}\n",
        "limits = {memory = \"12E\", storage = \"1Ti\"}\n",
        "limits = {memory = \"129M\", cpu = \"1500m\"}\n",
        "limits = {cpu = option(\"cpu\")}\n",
        "_n = 3\nlimits = {cpu = \"${_n} x\"}\n",
        "limits = {\"nvidia.com/gpu\" = \"1 of 2\"}\n",
        "limits = {cpu = \"unlimited\"}\n",
        "hard = {\"requests.cpu\" = \"10\", \"limits.memory\" = \"20Gi\", pods = \"4 x\"}\n",
        "requests = {\"hugepages-2Mi\" = \"100Mi\", \"ephemeral-storage\" = \"2Gi\"}\n",
        "schema R:\n    cpu?: str\n    memory: str = \"1 GB\"\n\nr = R {cpu = \"2 of 4\"}\n",
        "rates = {limits = [\"1 GB\"]}\n",
        "brain = {memory = \"7 items\"}\n",
        "a = {resources = {requests = {cpu = \"100m\"}}}\n",
        // The server cuts blanks off.
        "requests = {storage = \"10Gi \"}\n",
        // Somebody fills it in, or a model of somebody's own knows sizes by name.
        "a = {resources = {limits = {cpu = \"$(CPU)\", memory = \"{{ .memory }}\"}}}\n",
        "a = {resources = {limits = {cpu = \"<cpu>\", memory = \"\"}}}\n",
        "schema Sizes:\n    limits?: {str:str}\n\na = {resources = Sizes {limits = {cpu = \"small\"}}}\n",
        "a = {resources = {limits = {gpu = \"abc\"}, name = \"abc\"}}\n",
        "limits = {cpu = \"unlimited\", memory = \"2\"}\n",
        "a = {emptyDir = {sizeLimit = \"1Gi\"}, disk = {sizeLimit = \"1 GB\"}}\n",
        "emptyDir = {}\nb = {emptyDir.medium = \"Memory\"}\n",
    ];
    let found = [
        "limits = {cpu = \"100x\"}\n",
        "limits = {memory = \"1 GB\"}\n",
        "limits = {memory = \"1GB\"}\n",
        "requests = {memory = \"512MiB\"}\n",
        "a = {resources = {limits = {cpu = \"1,5\"}}}\n",
        "a = {resources: {requests: {memory: \"1gb\"}}}\n",
        "a.resources.limits.memory = \"10mb\"\n",
        "hard = {\"requests.cpu\" = \"10 cores\"}\n",
        "schema C:\n    limits: {str:str} = {cpu = \"2 cores\"}\n",
        "_limits = {cpu = \"1.5.0\"}\nx = _limits\n",
        "limits = {memory = \"12Q\"}\n",
        "a = {resources = {limits = {cpu = \"abc\"}}}\n",
        "a = {\"resources\": {\"requests\": {\"storage\": \"lots\"}}}\n",
        "a = {resources.limits.cpu = \"abc\"}\n",
        "resources = {requests = {memory = \"Gi\"}}\n",
        "a.resources.limits.cpu = \"abc\"\n",
        "limits = {cpu = \"abc\", memory = \"1Gi\"}\n",
        "a = {resources = {limits = {cpu = \"abc\", memory = \"1Gi\"}}}\n",
        "schema ResourceRequirements:\n    limits?: {str:str}\n\na = {resources = ResourceRequirements {limits = {cpu = \"small\"}}}\n",
        "schema C:\n    resources: any = {limits = {cpu = \"two\"}}\n",
        "volume = {emptyDir = {sizeLimit = \"1 GB\"}}\n",
    ];
    judge("kubernetes-quantity", &clean, &found);
}

#[test]
fn ports() {
    let clean = [
        "p = {containerPort = 80, hostPort = 0, nodePort = 30080, targetPort = 65535}\n",
        "p = {targetPort = \"http\"}\nq = {targetPort = \"http-2\"}\n",
        "p = {containerPort = option(\"port\")}\n",
        "p = {targetPort = \"$(PORT)\"}\nq = {containerPort = \"{{ .port }}\"}\n",
        "_n = 1\np = {targetPort = \"p${_n}\"}\n",
        "p = {port = 70000, hostport = \"a\", portName = \"80\"}\n",
        "containerPort = 99999\n",
        "schema P:\n    containerPort?: int\n",
        // A model of somebody's own.
        "schema P:\n    containerPort?: str\n\np = P {containerPort = \"http\"}\n",
    ];
    let found = [
        "p = {containerPort = 0}\n",
        "p = {containerPort = 65536}\n",
        "p = {containerPort = -80}\n",
        "p = {\"containerPort\": \"80\"}\n",
        "p = {hostPort = \"http\"}\n",
        "p = {nodePort = 100000}\n",
        "p = {targetPort = \"8080\"}\n",
        "p = {targetPort = \"HTTP\"}\n",
        "p = {targetPort = \"a-name-that-is-too-long\"}\n",
        "p = {targetPort = \"a--b\"}\n",
        "schema P:\n    targetPort?: int | str\n\np = P {targetPort = \"80\"}\n",
    ];
    judge("kubernetes-port", &clean, &found);
}

#[test]
fn seconds() {
    let clean = [
        "p = {periodSeconds = 10, initialDelaySeconds = 0}\n",
        "p = {periodSeconds = option(\"s\")}\n",
        "p = {periodSeconds = \"$(S)\", tolerationSeconds = \"\"}\n",
        "p = {timeout = \"10s\", seconds = \"1m\", timeoutSeconds = \"as long as it takes\"}\n",
        "_n = 3\np = {periodSeconds = \"${_n}\"}\n",
        "p = {minReadySeconds = 2 * 5, activeDeadlineSeconds = None}\n",
        "schema P:\n    periodSeconds?: str\n\np = P {periodSeconds = \"10s\"}\n",
    ];
    let found = [
        "p = {periodSeconds = \"10s\"}\n",
        "p = {periodSeconds = \"10\"}\n",
        "p = {terminationGracePeriodSeconds: \"1m30s\"}\n",
        "p = {\"ttlSecondsAfterFinished\" = \"1 day\"}\n",
        "p = {spec.minReadySeconds = \"soon\"}\n",
        "p = {initialDelaySeconds = 1.5}\n",
    ];
    judge("kubernetes-seconds", &clean, &found);
}

const OLD: &str =
    "schema App:\n    @deprecated(reason=\"use image\", strict=False)\n    img?: str\n    image?: str\n\n";

#[test]
fn deprecated() {
    let with = |text: &str| format!("{OLD}{text}");
    let clean = [
        with("a = App {image = \"x\"}\n"),
        with("img = \"x\"\nb = img\n"),
        with("d = {img = 1}\ne = d.img\n"),
        with("schema Other:\n    img?: str\n\no = Other {img = \"x\"}\n"),
        with("f = lambda img {\n    img\n}\ng = f(1)\n"),
        with("l = [img for img in [1]]\n"),
        with("s = \"img\"\n"),
        with("schema Sub(App):\n    img?: str = \"mine\"\n\ns = Sub {img = \"x\"}\n"),
        "schema App:\n    @deprecated(strict=False)\n    img?: str\n    image: str = img or \"d\"\n\na = App {}\n".into(),
        "schema App:\n    @deprecated(strict=False)\n    img?: str\n    check:\n        len(img) > 1 if img\n\na = App {}\n".into(),
        "@deprecated(strict=False)\nschema Old:\n    n?: int\n\n@deprecated(strict=False)\nschema Older(Old):\n    m?: Old\n".into(),
        "@info(message=\"deprecated\")\nschema A:\n    a?: int\n\nx = A {a = 1}\n".into(),
        "deprecated = 1\nx = deprecated\n".into(),
        with("a: any = {img = 1}\nb = a.img\n"),
        with("c = {App = 1}\nd = c.App\n"),
    ];
    let found = [
        with("a = App {img = \"x\"}\n"),
        with("a = App {image = \"x\"}\nb = a.img\n"),
        with("a: App = {img = \"x\"}\n"),
        with("a: App {img = \"x\"}\n"),
        with("a = [App {img: \"x\"} for _ in [1]]\n"),
        with("a: {str:App} = {k: {img = \"x\"}}\n"),
        with("a = App {\"img\" = \"x\"}\n"),
        with("_c = True\na = App {\n    if _c:\n        img = \"x\"\n}\n"),
        with("a = App {} | {img = \"x\"}\nb = a.img\n"),
        with("f = lambda a: App {\n    a.img\n}\ng = f(App {})\n"),
        with("schema Sub(App):\n    more?: int\n\ns = Sub {img = \"x\"}\n"),
        with("schema Holder:\n    app: App = {img = \"x\"}\n\nh = Holder {}\n"),
        "@deprecated(strict=False)\nschema Old:\n    n?: int\n\nx = Old {}\n".into(),
        "@deprecated(strict=False)\nschema Old:\n    n?: int\n\nx: Old = {}\n".into(),
        "@deprecated(strict=False)\nschema Old:\n    n?: int\n\nschema New(Old):\n    m?: int\n".into(),
        "@deprecated(strict=False)\nschema Old:\n    n?: int\n\nschema New:\n    m?: [Old]\n".into(),
    ];
    let (clean, found): (Vec<&str>, Vec<&str>) =
        (clean.iter().map(String::as_str).collect(), found.iter().map(String::as_str).collect());
    judge("deprecated", &clean, &found);
}

/// A name of a package is another thing than an attribute of that name in one of its schemas.
#[test]
fn deprecated_in_another_package() {
    let library =
        format!("{OLD}img = \"a variable\"\n\n@deprecated(strict=False)\nschema Gone:\n    g?: int\n");
    let found =
        |main: &str| findings("deprecated", &[("main.k", main), ("lib/lib.k", &library), ("kcl.mod", "")]);
    assert_eq!(found("import lib\n\na = lib.img\n"), Vec::<String>::new());
    assert_eq!(found("import lib\n\na = lib.App {img = \"x\"}\n"), ["`img` is deprecated"]);
    assert_eq!(found("import lib\n\na = lib.Gone {}\nb: lib.Gone = {}\n").len(), 2);
}

#[test]
fn branches() {
    let clean = [
        "if True:\n    a = 1\n",
        "_x = option(\"x\")\nif _x:\n    _a = 1\nelif not _x:\n    _a = 2\n",
        "_x = option(\"x\")\nif _x == 1:\n    _a = 1\nelif _x == 2:\n    _a = 2\nelif _x == 11:\n    _a = 3\n",
        "_x = option(\"x\")\na = 1 if _x else 2\n",
        "_x = []\na = 1 if _x else 2\n",
        "_d = False\nif _d:\n    a = 1\n",
        "a = [x for x in [1, 2] if x]\n",
        "a = {k: v for k, v in {b = 1} if k}\n",
        "a = {\n    if option(\"x\"):\n        _b = 1\n    else:\n        _b = 2\n}\n",
        "a = [\n    if option(\"x\"):\n        1\n    else:\n        2\n]\n",
        "_x = option(\"x\")\nif _x == \"a\":\n    if _x == \"a\":\n        b = 1\n",
        "_x = option(\"x\")\n_y = option(\"y\")\nif _x:\n    _a = 1\nelif _y:\n    if _x:\n        _a = 2\n",
        "_x = option(\"x\")\nif _x == \"1\":\n    _a = 1\nelif _x == 1:\n    _a = 2\n",
        "_x = option(\"x\")\nif _x.a:\n    _b = 1\nelif _x?.a:\n    _b = 2\n",
        "a = option(\"x\") or False\n",
        "a = True and option(\"x\")\n",
        "assert True, \"never\"\n",
        "schema S:\n    a?: int\n    check:\n        a > 1 if a\n",
        "f = lambda x {\n    1 if x > 1 else 2 if x > 0 else 3\n}\na = f(1)\n",
    ];
    let found = [
        "if False:\n    a = 1\n",
        "if 0:\n    a = 1\n",
        "if \"\":\n    a = 1\n",
        "if None:\n    a = 1\n",
        "if True:\n    _a = 1\nelse:\n    _a = 2\n",
        "if not True:\n    a = 1\n",
        "a = 1 if True else 2\n",
        "a = [x for x in [1] if False]\n",
        "a = {\n    if False:\n        b = 1\n}\n",
        "_x = option(\"x\")\nif _x == 1:\n    _a = 1\nelif _x == 2:\n    _a = 2\nelif _x == 1:\n    _a = 3\n",
        "_x = option(\"x\")\nif _x:\n    _a = 1\nelse:\n    if _x:\n        _a = 2\n",
    ];
    judge("unreachable-branch", &clean, &found);
}
