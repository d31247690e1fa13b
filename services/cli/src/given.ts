/** The options that have a value, of those that may be left out. */
type Given<T> = { -readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Options without those that were left out: a request or change names only what was given. */
export function given<T extends object>(options: T): Given<T> {
  // Safe because it only leaves out what has no value.
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Given<T>
}
