import json, subprocess, time, urllib.error, urllib.request

class Client:
    """Lists all surveys, and waits as Retry-After says."""
    def __init__(self, base_url, account):
        self.base_url = base_url
        self.headers = {"Authorization-ID": str(account["id"]), "Authorization-Token": account["token"]}

    def get(self, path):
        while True:
            try:
                with urllib.request.urlopen(urllib.request.Request(self.base_url + path, headers=self.headers)) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
                time.sleep(float(error.headers.get("Retry-After", "0.1")))

    def surveys(self):
        page = 1
        while page is not None:
            body = self.get(f"/surveys?page={page}")
            yield from body["surveys"]
            page = body["pagination"]["next_page"]

def control(origin, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{origin}/_reference{path}", data, method=method)) as answer:
        return json.load(answer)

server = subprocess.Popen(
    ["node", "dist/main.js", "reference-server", "--port", "0", "--surveys", "120", "--page-size", "20",
     "--clock", "frozen", "--rate-limit", "4/1s"],
    stdout=subprocess.PIPE, text=True)
try:
    started = json.loads(server.stdout.readline())
    origin = started["base_url"].removesuffix("/api/v1")

    # The third page fails twice, and the cap is low: the client must read all surveys nevertheless.
    control(origin, "PUT", "/faults", [
        {"match": {"path": "/surveys", "page": 3}, "times": 2, "action": {"status": 503, "headers": {"Retry-After": "0"}}},
    ])
    read = list(Client(started["base_url"], started["accounts"][0]).surveys())
    truth = control(origin, "GET", "/truth?only=surveys")["accounts"][0]["surveys"]
    assert read == truth and len(read) == 120, "the client lost or changed something"

    statuses = [request["status"] for request in control(origin, "GET", "/requests")["requests"]]
    assert statuses.count(503) == 2
    print(f"{len(read)} surveys in {len(statuses)} requests, {statuses.count(429)} of them refused")
finally:
    server.terminate()
    server.wait()
