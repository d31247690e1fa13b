import type { CorpusCase, Prediction } from './prediction.ts'

/** Scores one key of a prediction: undefined if the case has no expectation. */
export type Judge = (expected: CorpusCase, prediction: Prediction) => boolean | undefined

/** A corpus: its file, its predictor, and a judge for each scored key of its cases. */
export interface Corpus {
  readonly file: string
  readonly predictor: string
  /** Folder of the files that cases name, below that of the corpora; absent: the same folder. */
  readonly folder?: string
  readonly keys: Readonly<Record<string, Judge>>
}

/** Judges a value by equality; an expectation of null is not scored. */
function same(key: string, expectedKey = key): Judge {
  return (expected, prediction) => {
    const want = expected[expectedKey] ?? null
    return want === null ? undefined : equal(want, prediction[key] ?? null)
  }
}

/** Judges a value by equality, also with an expectation of null: there is none. */
function exactly(key: string): Judge {
  return (expected, prediction) =>
    Object.hasOwn(expected, key) ? equal(expected[key] ?? null, prediction[key] ?? null) : undefined
}

/** Judges a moment or day, in any notation. */
function sameTime(key: string): Judge {
  return (expected, prediction) => {
    const want = expected[key] ?? null
    if (want === null) return undefined
    const got = prediction[key]
    if (want === got) return true
    return (
      typeof got === 'string' && typeof want === 'string' && Date.parse(got) === Date.parse(want)
    )
  }
}

/** Judges a value by a nested expectation, which is found by a path. */
function at(key: string, ...path: (string | number)[]): Judge {
  return (expected, prediction) => {
    let want: unknown = expected
    for (const step of path) want = fieldOf(want, step)
    return want === undefined || want === null ? undefined : equal(want, prediction[key] ?? null)
  }
}

/** After a throttled reply only null is right, since it tells nothing about the name. */
const registered: Judge = (expected, prediction) => {
  if (expected['throttled'] === true) return prediction['registered'] === null
  return same('registered')(expected, prediction)
}

const verdict: Judge = ({ verdict_any: any }, prediction) =>
  Array.isArray(any) ? any.includes(prediction['verdict']) : undefined

const asn: Judge = ({ autonomous_system_number: number }, prediction) =>
  typeof number === 'number' ? prediction['asn'] === `AS${number}` : undefined

/** Judges a line type; expectations have libphonenumber's types. */
const lineType: Judge = ({ line_type: type }, prediction) => {
  if (typeof type !== 'string') return undefined
  const lines: Record<string, string> = { mobile: 'mobile', fixed_line: 'landline', voip: 'voip' }
  return prediction['line_type'] === (lines[type] ?? 'unknown')
}

/** Judges an ISO code; libphonenumber's region 001, of numbers without a country, has none. */
const country: Judge = ({ region }, prediction) => {
  if (typeof region !== 'string') return undefined
  return prediction['country_code'] === (region === '001' ? null : region)
}

const nameservers: Judge = ({ nameservers: want }, { nameservers: got }) =>
  Array.isArray(want) ? equal(sorted(want), Array.isArray(got) ? sorted(got) : null) : undefined

function sorted(names: readonly unknown[]): readonly unknown[] {
  return names.map((name) => JSON.stringify(name)).toSorted((a, b) => (a < b ? -1 : 1))
}

/** All known corpora; a folder may contain any of them. */
export const CORPORA: readonly Corpus[] = [
  { file: 'email-syntax', predictor: 'email-syntax', keys: { valid: same('valid') } },
  { file: 'smtp-replies', predictor: 'smtp-replies', keys: { verdict } },
  {
    file: 'whois',
    predictor: 'whois',
    keys: {
      registered,
      registrar: same('registrar'),
      created: same('created'),
      expires: same('expires'),
      throttled: same('throttled'),
    },
  },
  {
    file: 'rdap',
    predictor: 'rdap',
    keys: {
      created: sameTime('created'),
      expires: sameTime('expires'),
      registrar: same('registrar'),
      nameservers,
    },
  },
  {
    file: 'ip-special',
    predictor: 'ip-special',
    keys: { globally_reachable: same('globally_reachable') },
  },
  {
    file: 'ip-city',
    predictor: 'ip',
    keys: {
      country: at('country', 'country', 'names', 'en'),
      country_code: at('country_code', 'country', 'iso_code'),
      region: at('region', 'subdivisions', 0, 'names', 'en'),
      city: at('city', 'city', 'names', 'en'),
      latitude: at('latitude', 'location', 'latitude'),
      longitude: at('longitude', 'location', 'longitude'),
      timezone: at('timezone', 'location', 'time_zone'),
    },
  },
  {
    file: 'ip-asn',
    predictor: 'ip',
    keys: { asn, isp: same('isp', 'autonomous_system_organization') },
  },
  {
    file: 'phone-examples',
    predictor: 'phone',
    keys: {
      valid: same('valid'),
      country_code: country,
      line_type: lineType,
      national_format: same('national_format'),
    },
  },
  { file: 'phone-invalid', predictor: 'phone', keys: { valid: same('valid') } },
  {
    file: 'phone-national',
    predictor: 'phone',
    keys: { valid: same('valid'), e164: same('e164'), line_type: lineType },
  },
  { file: 'idna', predictor: 'idna', keys: { ascii: asciiOrNone } },
  {
    file: 'domain-typos',
    predictor: 'domain-typos',
    keys: { suggestion_domain: exactly('suggestion_domain') },
  },
  ...['disposable', 'not-disposable', 'free-provider'].map((file) => ({
    file,
    predictor: 'disposable',
    keys: { disposable: same('disposable'), free_provider: same('free_provider') },
  })),
  {
    file: 'csv',
    predictor: 'csv',
    keys: {
      columns: same('columns'),
      rows: same('rows'),
      records: same('records'),
      delimiter: same('delimiter'),
      header: same('header_row', 'header'),
      header_row: same('header_row'),
      roles: same('roles'),
    },
  },
  {
    file: 'encodings/index',
    predictor: 'csv',
    folder: 'encodings',
    keys: { columns: same('columns'), records: same('records') },
  },
]

/** Judges an A-label form, which an invalid name does not have. */
function asciiOrNone(expected: CorpusCase, prediction: Prediction): boolean | undefined {
  if (expected['valid'] === false) return prediction['ascii'] === null
  return same('ascii')(expected, prediction)
}

/** The tier of a case: `core`, or one for disputed cases, which are counted separately. */
export function tierOf(about: CorpusCase): string {
  const expected = fieldOf(about, 'expected')
  const tier = fieldOf(expected, 'tier') ?? fieldOf(about, 'tier')
  if (typeof tier === 'string') return tier
  for (const name of ['contested', 'conflict', 'suspect']) {
    const flag = fieldOf(expected, name) ?? fieldOf(about, name)
    if (flag === true || (Array.isArray(flag) && flag.length > 0)) return name
  }
  return 'core'
}

function fieldOf(value: unknown, step: string | number): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined
}

/** Deep equality; the order of keys does not matter. */
function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equal(Reflect.get(a, key), Reflect.get(b, key)))
  )
}
