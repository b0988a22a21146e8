# A plugin in shell: `kcl run main.k --plugin shout="sh shout.sh"`, then `import kcl_plugin.shout`.
# It knows one function, upper(text), and finds its argument in the request by hand.
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id": \([0-9]*\).*/\1/')
    text=$(printf '%s' "$line" | sed 's/.*"args": \["\([^"]*\)"\].*/\1/' | tr a-z A-Z)
    printf '{"jsonrpc": "2.0", "id": %s, "result": "%s"}\n' "$id" "$text"
done
