import { resolve, sep } from 'node:path'
import { isSupportedCountry, type CountryCode } from 'libphonenumber-js/max'
import type { Outcome } from '@plumbline/contract/outcome'
import type { Check } from '@plumbline/contract/products'
import { classifyReply } from '@plumbline/email/classify'
import { parseMailbox } from '@plumbline/email/syntax'
import { suggestDomain } from '@plumbline/email/typo'
import { toAscii } from '@plumbline/domain/name'
import { parseRdap } from '@plumbline/domain/rdap-parse'
import { parseWhois } from '@plumbline/domain/whois-parse'
import { parseAddress } from '@plumbline/net/address-bytes'
import { createCountryNames } from '@plumbline/datasets/country-names'
import { loadIpData } from '@plumbline/ip/data'
import { lookupIp } from '@plumbline/ip/lookup'
import { createRoutabilityJudge } from '@plumbline/ip/routability'
import { judgeDomain, loadMailDomainLists } from '@plumbline/datasets/mail-domains'
import { readNumbering } from '@plumbline/phone/numbering'
import { loadPhonePrefixes } from '@plumbline/phone/prefixes'
import { createScorer } from '@plumbline/scoring/score'
import { packagedWeights } from '@plumbline/scoring/weights'
import { assembleResult } from '@plumbline/pipeline/assemble'
import { readPhone } from '@plumbline/intake/subject'
import { predictCsv } from './predict-csv.ts'
import type { CorpusCase, Prediction } from './prediction.ts'

/** Predicts one case; never throws, whatever the input. */
export type Predictor = (input: unknown, about: CorpusCase) => Prediction | Promise<Prediction>

/** Folder of the cases, and data of the engines. */
export interface PredictorSettings {
  /** Folder to which the inputs that are file names are relative. */
  readonly root: string
  readonly cityDb: string | undefined
  readonly asnDb: string | undefined
  readonly listsDir: string | null
}

/** Predictors by name (`Corpus.predictor`); each loads its data once. */
export const PREDICTORS: Readonly<
  Record<string, (settings: PredictorSettings) => Predictor | Promise<Predictor>>
> = {
  'email-syntax': () => (input) => ({ valid: parseMailbox(textOf(input)).ok }),
  'smtp-replies': () => predictReply,
  whois: () => predictWhois,
  rdap: () => predictRdap,
  'ip-special': createSpecialPredictor,
  ip: createIpPredictor,
  phone: createPhonePredictor,
  idna: () => (input) => ({ ascii: toAscii(textOf(input)) }),
  'domain-typos': () => (input) => ({ suggestion_domain: suggestDomain(textOf(input)) }),
  disposable: createDisposablePredictor,
  csv:
    ({ root }) =>
    (input) =>
      predictCsv(fileBelow(root, textOf(input))),
}

function predictReply(input: unknown): Prediction {
  const { code, enhanced, text, provider } = recordOf(input)
  const { status: verdict, reason } = classifyReply({
    phase: 'rcpt',
    provider: textOf(provider),
    code: Number.isInteger(Number(code)) && code !== null ? Number(code) : null,
    ...(typeof enhanced === 'string' ? { enhanced } : {}),
    text: textOf(text),
  })
  return { verdict, reason }
}

function predictWhois(input: unknown, about: CorpusCase): Prediction {
  const { registered, registrar, created, expires, throttled } = parseWhois(textOf(input), {
    tld: textOrNull(about['tld']),
    domain: textOrNull(about['domain']),
  })
  return { registered, registrar, created, expires, throttled }
}

function predictRdap(input: unknown): Prediction {
  const { created, expires, registrar, nameservers } = parseRdap(
    typeof input === 'string' ? parsed(input) : input,
  )
  return { created, expires, registrar, nameservers }
}

function createSpecialPredictor(): Predictor {
  const judge = createRoutabilityJudge()
  return (input) => {
    const address = parseAddress(textOf(input))
    return { globally_reachable: address !== null && judge(address).reachable }
  }
}

async function createIpPredictor(settings: PredictorSettings): Promise<Predictor> {
  const { current } = await loadIpData({
    cityDb: settings.cityDb,
    asnDb: settings.asnDb,
    listsDir: settings.listsDir,
  })
  const scorer = createScorer(packagedWeights())
  return (input) => {
    const ip = textOf(input)
    if (parseAddress(ip) === null) return { ip, valid: false }
    return assembleResult('ip', { ip: outcomeOf<'ip'>(lookupIp(current, ip)) }, scorer)
  }
}

async function createPhonePredictor(): Promise<Predictor> {
  const tables = { prefixes: await loadPhonePrefixes(), countries: createCountryNames() }
  const scorer = createScorer(packagedWeights())
  return (input) => {
    const { number, region } = typeof input === 'string' ? { number: input } : recordOf(input)
    const text = textOf(number)
    const country = textOrNull(region)
    const e164 = readPhone(text.trim(), supportedCountry(country)).subject
    if (e164 === undefined) return { phone: text, valid: false, line_type: 'unknown', e164: null }
    const { facts } = readNumbering(tables, e164)
    const phone = outcomeOf<'phone'>({ reason: 'no_hlr_provider', facts, evidence: {} })
    return { ...assembleResult('phone', { phone }, scorer), e164 }
  }
}

/** The country code; undefined if libphonenumber has no numbers of that country. */
function supportedCountry(code: string | null): CountryCode | undefined {
  const upper = code?.toUpperCase()
  return upper !== undefined && isSupportedCountry(upper) ? upper : undefined
}

async function createDisposablePredictor({ listsDir }: PredictorSettings): Promise<Predictor> {
  const lists = await loadMailDomainLists(listsDir)
  return (input) => {
    const domain = toAscii(textOf(input)) ?? textOf(input).toLowerCase()
    const { disposable, free } = judgeDomain(domain, [], lists)
    return { disposable, free_provider: free }
  }
}

function outcomeOf<C extends Check>(
  known: Pick<Outcome<C>, 'reason' | 'facts' | 'evidence'>,
): Outcome<C> {
  const around = { kind: 'outcome', cached: false, checkedAt: '', durationMs: 0 } as const
  // Every check but email has this status, and email is not predicted so.
  return { ...around, ...known, status: 'answered' } as Outcome<C>
}

/** The path of a file below the root; a path that does not exist for a name that leads out of it. */
function fileBelow(root: string, name: string): string {
  const path = resolve(root, name)
  return path.startsWith(resolve(root) + sep) ? path : resolve(root, 'outside-the-folder')
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function recordOf(value: unknown): CorpusCase {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
