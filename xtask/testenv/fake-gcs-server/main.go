// Google Cloud Storage on loopback: fake-gcs-server with one bucket, and in front of it what its XML API lacks: a conditional
// PUT, and a 404 that names the missing object. Both are answered from its JSON API, which compares generations.
//
//	fake-gcs-server PORT BUCKET
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

const missing = `<?xml version='1.0' encoding='UTF-8'?><Error><Code>%s</Code><Message>%s</Message></Error>`

func main() {
	address := "127.0.0.1:" + os.Args[1]
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, Scheme: "http", PublicHost: address})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: os.Args[2]})
	front := &front{inner: server.HTTPHandler(), host: address, bucket: os.Args[2]}
	fmt.Fprintln(os.Stderr, http.ListenAndServe(address, front))
	os.Exit(1)
}

type front struct {
	inner  http.Handler
	host   string
	bucket string
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// It knows itself by one name only; a client may come through a proxy.
	r.Host = f.host
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	xml := bucket != "storage" && bucket != "upload"
	switch {
	case xml && bucket != f.bucket:
		refuse(w, "NoSuchBucket", "The specified bucket does not exist.")
	case xml && r.Method == http.MethodPut:
		f.put(w, r, name)
	case xml && name != "":
		f.object(w, r)
	default:
		f.inner.ServeHTTP(w, r)
	}
}

func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintf(w, missing, code, message)
}

func (f *front) ask(method, path string, body []byte) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(method, path, bytes.NewReader(body))
	request.Host = f.host
	f.inner.ServeHTTP(answer, request)
	return answer
}

// object reads or removes one; what is missing is named.
func (f *front) object(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	f.inner.ServeHTTP(answer, r)
	if answer.Code == http.StatusNotFound {
		refuse(w, "NoSuchKey", "The specified key does not exist.")
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	// Who has gone does not wait for the rest.
	_, _ = answer.Body.WriteTo(w)
}

// put is one upload of the JSON API: it compares the generation and writes under one lock.
func (f *front) put(w http.ResponseWriter, r *http.Request, name string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	query := url.Values{"uploadType": {"media"}, "name": {name}}
	if generation := r.Header.Get("x-goog-if-generation-match"); generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	answer := f.ask(http.MethodPost, "/upload/storage/v1/b/"+f.bucket+"/o?"+query.Encode(), body)
	var object struct{ Generation, Etag string }
	if answer.Code != http.StatusOK {
		http.Error(w, answer.Body.String(), answer.Code)
		return
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &object); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("ETag", strconv.Quote(object.Etag))
	w.Header().Set("x-goog-generation", object.Generation)
}
