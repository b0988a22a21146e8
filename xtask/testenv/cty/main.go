// The codecs of go-cty, line by line: a type and MessagePack in, what go-cty reads written again as MessagePack and JSON.
//
// In:  TYPE<tab>HEX. Out: HEX<tab>JSON, or `!` and why it is refused. JSON is empty where the value has none.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<28)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	types := map[string]cty.Type{}
	for in.Scan() {
		line := in.Bytes()
		if len(line) == 0 {
			out.Flush()
			continue
		}
		tab := bytes.IndexByte(line, '\t')
		answer(out, types, string(line[:tab]), line[tab+1:])
	}
}

func answer(out *bufio.Writer, types map[string]cty.Type, typeText string, text []byte) {
	defer func() {
		if trouble := recover(); trouble != nil {
			fmt.Fprintf(out, "!panic\n")
		}
	}()
	ty, known := types[typeText]
	if !known {
		var err error
		if ty, err = ctyjson.UnmarshalType([]byte(typeText)); err != nil {
			fmt.Fprintf(out, "!type %s\n", err)
			return
		}
		if len(types) < 100000 {
			types[typeText] = ty
		}
	}
	raw := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(raw, text); err != nil {
		fmt.Fprintf(out, "!hex %s\n", err)
		return
	}
	value, err := msgpack.Unmarshal(raw, ty)
	if err != nil {
		fmt.Fprintf(out, "!%s\n", err)
		return
	}
	written, err := msgpack.Marshal(value, ty)
	if err != nil {
		fmt.Fprintf(out, "!writing %s\n", err)
		return
	}
	// Unknown and infinite values have no JSON form.
	inJSON, err := ctyjson.Marshal(value, ty)
	if err != nil {
		inJSON = nil
	} else if again, err := ctyjson.Unmarshal(inJSON, ty); err != nil {
		inJSON = []byte("!" + err.Error())
	} else if twice, err := msgpack.Marshal(again, ty); err != nil {
		inJSON = []byte("!" + err.Error())
	} else {
		// What came back from JSON is compared as well: floats become decimals there.
		inJSON = append(append(inJSON, '\t'), []byte(hex.EncodeToString(twice))...)
	}
	fmt.Fprintf(out, "%s\t%s\n", hex.EncodeToString(written), inJSON)
}
