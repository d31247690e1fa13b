import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { WeightRow, Weights } from '@plumbline/contract/score'
import type { SignalCode, SignalGroup } from '@plumbline/contract/signal'
import packaged from './weights.json' with { type: 'json' }

/** The packaged rows: one for each signal, as the compiler checks. */
const PACKAGED: { readonly [G in SignalGroup]: { readonly [C in SignalCode<G>]: WeightRow } } =
  packaged.groups

/** A weight of 100 would make one signal certain and hide all others. */
const MAX_WEIGHT = 99

const MAX_FILE_BYTES = 1_048_576

/** The packaged weights. They are priors from published systems, not fitted. */
export function packagedWeights(): Weights {
  return versioned(packaged.version, PACKAGED)
}

/** Digits of the digest in a version: enough to tell any two tables of one name apart. */
const DIGEST_DIGITS = 12

/**
 * A table with a version derived from its content: its name, which need not be unique, and a digest
 * of the rows in a fixed order.
 */
function versioned(name: string, groups: Weights['groups']): Weights {
  const rows = Object.entries(groups)
    .flatMap(([group, codes]) =>
      Object.entries(codes).map(([code, { weight, reason }]) =>
        JSON.stringify([group, code, weight, reason]),
      ),
    )
    .toSorted()
  const digest = createHash('sha256').update(rows.join('\n')).digest('hex')
  return { version: `${name}+${digest.slice(0, DIGEST_DIGITS)}`, groups }
}

/**
 * The packaged weights, overridden by an operator's file. The file has the form of `weights.json`;
 * rows that it leaves out keep their packaged weight, and a row may be just a number.
 *
 * @throws one error that names every fault of the file
 */
export async function loadWeights(path: string | undefined): Promise<Weights> {
  if (path === undefined) return packagedWeights()
  const text = await readFile(path, 'utf8')
  return overlayWeights(text, path)
}

/** Overrides the packaged weights by the rows of a JSON text; `name` is used in the error. */
export function overlayWeights(text: string, name: string): Weights {
  const faults: string[] = []
  const file = parseFile(text, faults)
  const groups: Record<string, Record<string, WeightRow>> = {}
  for (const [group, rows] of Object.entries<Readonly<Record<string, WeightRow>>>(PACKAGED)) {
    groups[group] = { ...rows }
  }
  for (const [group, rows] of Object.entries(file.groups)) {
    const known = Object.hasOwn(groups, group) ? groups[group] : undefined
    if (known === undefined) {
      faults.push(
        `groups has ${JSON.stringify(group)}, which is none of ${Object.keys(groups).join(', ')}`,
      )
    } else if (!isObject(rows)) {
      faults.push(`groups.${group} is not an object`)
    } else {
      overlayGroup(group, known, rows, faults)
    }
  }
  if (faults.length > 0) {
    throw new Error(`the weights file ${name} has ${faults.length} faults: ${faults.join('; ')}`)
  }
  return versioned(file.version, groups)
}

function parseFile(
  text: string,
  faults: string[],
): { version: string; groups: Record<string, unknown> } {
  const empty = { version: '', groups: {} }
  if (text.length > MAX_FILE_BYTES) {
    faults.push(`it is over ${MAX_FILE_BYTES} characters`)
    return empty
  }
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch (error) {
    faults.push(`it is not JSON (${error instanceof Error ? error.message : 'unreadable'})`)
    return empty
  }
  if (!isObject(file)) {
    faults.push('it is not an object')
    return empty
  }
  for (const key of Object.keys(file)) {
    if (key !== 'version' && key !== 'groups') {
      faults.push(`it has ${JSON.stringify(key)}; expected are version and groups`)
    }
  }
  const version = file['version']
  if (typeof version !== 'string' || !/^[\x20-\x7e]{1,64}$/.test(version)) {
    faults.push('version is not a text of 1 to 64 ASCII characters')
  } else if (version === packaged.version) {
    faults.push(`version is ${version}, which names the packaged weights`)
  }
  const groups = file['groups']
  if (!isObject(groups)) {
    faults.push('groups is not an object')
    return empty
  }
  return { version: typeof version === 'string' ? version : '', groups }
}

function overlayGroup(
  group: string,
  known: Record<string, WeightRow>,
  rows: Record<string, unknown>,
  faults: string[],
): void {
  for (const [code, row] of Object.entries(rows)) {
    const place = `groups.${group}.${code}`
    const held = Object.hasOwn(known, code) ? known[code] : undefined
    if (held === undefined) {
      faults.push(`${place} is none of ${Object.keys(known).join(', ')}`)
      continue
    }
    const weight = isObject(row) ? row['weight'] : row
    if (typeof weight !== 'number' || !(weight >= 0 && weight <= MAX_WEIGHT)) {
      faults.push(
        `${place} has the weight ${JSON.stringify(weight)}; expected is 0 to ${MAX_WEIGHT}`,
      )
      continue
    }
    const reason = isObject(row) ? (row['reason'] ?? held.reason) : held.reason
    if (typeof reason !== 'string') {
      faults.push(`${place} has a reason that is not a text`)
      continue
    }
    known[code] = { weight, reason }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
