import type { Domain } from '../world/domain.ts'
import { RCODE, TYPE } from './records.ts'
import type { Answer, Reply } from './records.ts'
import { WIRE_FAULTS } from './wire-faults.ts'

type Content = (name: string, type: number) => Reply | undefined

/** Faulty contents of well-formed replies, by name; undefined if this record type is answered as usual. */
export const CONTENT_FAULTS: Readonly<Record<string, Content>> = {
  servfail: () => ({ rcode: RCODE.servFail, answers: [] }),
  refused: () => ({ rcode: RCODE.refused, answers: [] }),
  notimp: () => ({ rcode: RCODE.notImp, answers: [] }),
  formerr: () => ({ rcode: RCODE.formErr, answers: [] }),
  'servfail-for-mx': (_name, type) =>
    type === TYPE.MX ? { rcode: RCODE.servFail, answers: [] } : undefined,
  'cname-to-itself': (name) => records({ type: 'CNAME', name, target: name }),
  'cname-loop': (name) =>
    records(
      { type: 'CNAME', name, target: `a.${name}` },
      { type: 'CNAME', name: `a.${name}`, target: `b.${name}` },
      { type: 'CNAME', name: `b.${name}`, target: name },
    ),
  'cname-to-nowhere': (name) => records({ type: 'CNAME', name, target: 'nowhere-at-all.example' }),
  'mx-to-nowhere': mx('nowhere-at-all.example'),
  'mx-is-address': mx('127.0.0.1'),
  'mx-is-localhost': mx('localhost'),
  'mx-private': mx('mx-private.simdns.net'),
  'mx-metadata': mx('mx-metadata.simdns.net'),
  'mx-name-too-long': mx(`${'a'.repeat(60)}.`.repeat(4) + 'example'),
  'mx-with-blank': mx('mail host.example'),
  'mx-is-alias': mx('alias-mx.simdns.net'),
  'null-mx-and-others': (name, type) =>
    type === TYPE.MX
      ? records(
          { type: 'MX', name, preference: 0, exchange: '' },
          { type: 'MX', name, preference: 10, exchange: 'nowhere-at-all.example' },
        )
      : undefined,
  'thousand-mx': (name, type) => {
    if (type !== TYPE.MX) return undefined
    return records(
      ...Array.from({ length: 1000 }, (_, i): Answer => ({
        type: 'MX',
        name,
        preference: i,
        exchange: `mx${i}.nowhere-at-all.example`,
      })),
    )
  },
  'thousand-txt': (name, type) => {
    if (type !== TYPE.TXT) return undefined
    return records(
      ...Array.from({ length: 1000 }, (_, i): Answer => ({
        type: 'TXT',
        name,
        text: `filler ${i} ${'x'.repeat(40)}`,
      })),
    )
  },
  'answers-for-others': (_name, type) =>
    type === TYPE.MX
      ? records({ type: 'MX', name: 'gmail.com', preference: 1, exchange: 'evil.example' })
      : undefined,
}

/** Names of all faults of name servers. */
export const DNS_FAULTS: readonly string[] = [
  ...Object.keys(CONTENT_FAULTS),
  ...Object.keys(WIRE_FAULTS),
]

/** Names that are CNAMEs of other names. */
export const ALIASES: ReadonlyMap<string, string> = new Map([
  ['alias-mx.simdns.net', 'mx.dns-faults-sim.example'],
])

/** Special addresses by host name: no connection may be made to them, though MX records name these hosts. */
export const UNSAFE_HOSTS: ReadonlyMap<string, string> = new Map([
  ['mx-private.simdns.net', '10.11.12.13'],
  ['mx-metadata.simdns.net', '169.254.169.254'],
  ['localhost', '127.0.0.1'],
])

/**
 * The reply for a domain with a fault in the content of replies; undefined if this type is answered as
 * usual.
 */
export function contentFault(domain: Domain, name: string, type: number): Reply | undefined {
  return domain.dnsFault === undefined ? undefined : CONTENT_FAULTS[domain.dnsFault]?.(name, type)
}

/** The fault of a domain, which its name servers also have for every subdomain. */
export function zoneFault(domain: Domain): string | undefined {
  const fault = domain.dnsFault
  if (fault === undefined || fault in WIRE_FAULTS) return fault
  return ['servfail', 'refused', 'notimp', 'formerr'].includes(fault) ? fault : undefined
}

function records(...answers: Answer[]): Reply {
  return { rcode: RCODE.noError, answers }
}

function mx(exchange: string): Content {
  return (name, type) =>
    type === TYPE.MX ? records({ type: 'MX', name, preference: 10, exchange }) : undefined
}
