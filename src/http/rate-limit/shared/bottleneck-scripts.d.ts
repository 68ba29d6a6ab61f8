/** The scripts of Bottleneck's Redis datastore, which its type declarations leave out. Bottleneck is pinned to the version they were read in. */
declare module 'bottleneck/lib/Scripts.js' {
  /** The Redis keys of a limiter, in the order in which its scripts take them. */
  export function allKeys(id: string): readonly string[]
  /** The Lua text of one. */
  export function payload(name: 'init' | 'register' | 'register_client'): string
}
