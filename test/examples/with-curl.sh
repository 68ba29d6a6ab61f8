node dist/main.js reference-server --port 0 --surveys 200 --clock frozen > server.json &
trap 'kill $!; rm server.json' EXIT
until [ -s server.json ]; do sleep 0.1; done
field() { node -p "JSON.parse(fs.readFileSync('server.json')).$1"; }
API=$(field base_url) ORIGIN=${API%/api/v1}
CREDENTIALS=(-H "Authorization-ID: $(field 'accounts[0].id')" -H "Authorization-Token: $(field 'accounts[0].token')")

# The surveys before and in fieldwork, newest first; -g makes curl send the brackets as they are.
curl -sg "${CREDENTIALS[@]}" "$API/surveys?status[]=pending&status[]=fieldwork"

# A day passes. What has changed since?
curl -s -X POST "$ORIGIN/_reference/time" -d '{"advance": "P1D"}'
curl -s "${CREDENTIALS[@]}" "$API/surveys?updated_since=2026-03-01T00:00:00Z"

# The next request for the survey list fails, once. What does your client do?
curl -s -X PUT "$ORIGIN/_reference/faults" \
  -d '[{"match": {"path": "/surveys"}, "action": {"status": 503, "body": "<h1>Back soon</h1>"}}]'
curl -s -o /dev/null -w '%{http_code}\n' "${CREDENTIALS[@]}" "$API/surveys"   # 503
curl -s -o /dev/null -w '%{http_code}\n' "${CREDENTIALS[@]}" "$API/surveys"   # 200

# Every request with its time and status: is your client's pacing right?
curl -s "$ORIGIN/_reference/requests"
