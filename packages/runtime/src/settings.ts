import { z } from 'zod'
import { fileVariable, isSecret, readSecretFile } from './secret-files.ts'

/** The environment variables of a program. */
export type Environment = Readonly<Record<string, string | undefined>>

/** All faults of the settings at once; the message is for the operator's terminal. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** The environment of this process: the only place where it is read. */
export function processEnvironment(): Environment {
  return process.env
}

/**
 * Reads a program's settings from the environment. An empty variable counts as unset; a malformed
 * one is an error, never a default, and the error lists every fault. A secret may be in a file
 * instead, named by the variable with `_FILE` appended.
 */
export function readSettings<S extends z.ZodObject>(
  schema: S,
  environment: Environment = processEnvironment(),
): Readonly<z.infer<S>> {
  const { given, faults } = gather(Object.keys(schema.shape), environment)
  const parsed = schema.safeParse(given)
  if (parsed.success && faults.length === 0) return Object.freeze(parsed.data)
  const unread = new Set<PropertyKey | undefined>(faults.map(({ name }) => name))
  const malformed = (parsed.error?.issues ?? []).filter(({ path }) => !unread.has(path[0]))
  const lines = [
    ...faults.map(({ name, fault }) => `  ${fileVariable(name)}: ${fault}`),
    ...malformed.map(
      ({ path, message }) => `  ${path.join('.')}: ${message} (got ${shown(given, path[0])})`,
    ),
  ]
  const count = lines.length === 1 ? 'a fault' : `${lines.length} faults`
  throw new SettingsError(`The settings have ${count}:\n${lines.join('\n')}`)
}

interface Gathered {
  readonly given: Readonly<Record<string, string>>
  /** Secrets whose files cannot be used, with the reason. */
  readonly faults: readonly { readonly name: string; readonly fault: string }[]
}

function gather(names: readonly string[], environment: Environment): Gathered {
  const given: Record<string, string> = {}
  const faults: { name: string; fault: string }[] = []
  for (const name of names) {
    const value = environment[name] ?? ''
    const path = isSecret(name) ? (environment[fileVariable(name)] ?? '') : ''
    if (value !== '' && path !== '') {
      faults.push({ name, fault: `expected one of it and ${name}, got both` })
    } else if (path !== '') {
      try {
        given[name] = readSecretFile(path)
      } catch (error) {
        faults.push({ name, fault: error instanceof Error ? error.message : String(error) })
      }
    } else if (value !== '') given[name] = value
  }
  return { given, faults }
}

function shown(given: Record<string, string>, name: PropertyKey | undefined): string {
  if (typeof name !== 'string' || given[name] === undefined) return 'nothing'
  return isSecret(name) || /KEY|SECRET|PASSWORD|URL/.test(name)
    ? 'a value that is not shown'
    : `"${given[name]}"`
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

/** A shape of settings that are whole numbers from 1, by name with their defaults. */
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

/** A setting that was replaced: its use is an error that names the successor. */
export function retired(successor: string): z.ZodOptional<z.ZodType<string, string>> {
  return z
    .string()
    .refine(() => false, `expected nothing, since it has lost its meaning; use ${successor}`)
    .optional()
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

/** Comma-separated seconds, each above 0. */
export function secondsList(): z.ZodType<readonly number[], string> {
  return wordList()
    .transform((words) => words.map(Number))
    .refine((waits) => waits.every((wait) => Number.isFinite(wait) && wait > 0), {
      message: 'expected seconds, comma-separated',
    })
}
