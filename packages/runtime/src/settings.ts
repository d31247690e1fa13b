import { z } from 'zod'

/** The environment as a program sees it. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Every fault of the settings at once; the message is for the operator's terminal. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** The environment of this process: the only place that reads it. */
export function processEnvironment(): Environment {
  return process.env
}

/**
 * Reads a program's settings from the environment. An empty variable counts as unset; a malformed
 * one is an error that lists every fault, never a default.
 */
export function readSettings<S extends z.ZodObject>(
  schema: S,
  environment: Environment = processEnvironment(),
): Readonly<z.infer<S>> {
  const given: Record<string, string> = {}
  for (const name of Object.keys(schema.shape)) {
    const value = environment[name]
    if (value !== undefined && value !== '') given[name] = value
  }
  const parsed = schema.safeParse(given)
  if (parsed.success) return Object.freeze(parsed.data)
  const faults = parsed.error.issues.map(
    (issue) => `  ${issue.path.join('.')}: ${issue.message} (got ${shown(given, issue.path[0])})`,
  )
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`
  throw new SettingsError(`The settings have ${count}:\n${faults.join('\n')}`)
}

function shown(given: Record<string, string>, name: PropertyKey | undefined): string {
  if (typeof name !== 'string' || given[name] === undefined) return 'nothing'
  return /KEY|SECRET|PASSWORD|URL/.test(name) ? 'a value that is not shown' : `"${given[name]}"`
}

/** A whole number with bounds. */
export function wholeNumber(bounds: { min: number; max?: number }): z.ZodType<number, string> {
  const { min, max = Number.MAX_SAFE_INTEGER } = bounds
  return z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a number from ${min} to ${max}`)
}

/** A shape for settings that are whole numbers from 1, by name with their defaults. */
export function wholeNumbers<Defaults extends Readonly<Record<string, number>>>(
  defaults: Defaults,
): { readonly [Name in keyof Defaults]: z.ZodDefault<z.ZodType<number, string>> } {
  const entries = Object.entries(defaults).map(([name, fallback]) => [
    name,
    wholeNumber({ min: 1 }).default(fallback),
  ])
  // Safe because there is an entry for each name.
  return Object.fromEntries(entries) as ReturnType<typeof wholeNumbers<Defaults>>
}

/** `true` or `false`. */
export function flag(): z.ZodType<boolean, string> {
  return z.enum(['true', 'false']).transform((value) => value === 'true')
}

/** Comma-separated words; white space around them is dropped. */
export function wordList(): z.ZodType<readonly string[], string> {
  return z.string().transform((value) =>
    value
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  )
}
