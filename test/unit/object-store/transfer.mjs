/**
 * Sends a file to a store, gets it back, and prints by how many bytes the memory of this process grew. Arguments: the module of the
 * store, its options as JSON, the file to send, the file to get.
 */
const [module, options, sent, got] = process.argv.slice(2)
const { openStore } = await import(module)
const store = await openStore(JSON.parse(options))
const { signal } = new AbortController()
// Loads what any request needs.
await store.putIfAbsent('small', Buffer.alloc(1_000), signal)
const peakBytes = () => process.resourceUsage().maxRSS * 1_024
const before = peakBytes()
const { kind } = await store.putIfAbsent('large', { file: sent }, signal)
const afterPut = peakBytes()
const isThere = await store.getToFile('large', got, signal)
await store[Symbol.asyncDispose]()
process.stdout.write(
  JSON.stringify({ kind, isThere, putBytes: afterPut - before, getBytes: peakBytes() - afterPut }),
)
