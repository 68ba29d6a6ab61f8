/** Makes a value when it is first needed, and once. */
export const once = <Value>(make: () => Promise<Value>): (() => Promise<Value>) => {
  let made: Promise<Value> | null = null
  return () => {
    made ??= make()
    return made
  }
}
