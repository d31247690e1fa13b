import type { RdapService, Registry } from '../world/registries.ts'
import { REGISTRARS } from '../world/registries.ts'
import type { Registered } from './lookup.ts'

/**
 * The RDAP object of a name, in the style of its registry. Source: RFC 9083 sections 4, 5.1 and 5.3.
 */
export function domainBody(
  registry: Registry,
  service: RdapService,
  found: Registered,
  selfUrl: string,
): unknown {
  const { registration, name } = found
  const hides = registry.hides ?? []
  const date = (iso: string): string => (service.style === 'offset-dates' ? withOffset(iso) : iso)
  const events: { eventAction: string; eventDate: string }[] = []
  if (!hides.includes('created'))
    events.push({ eventAction: 'registration', eventDate: date(registration.createdAt) })
  if (!hides.includes('expires'))
    events.push({ eventAction: 'expiration', eventDate: date(registration.expiresAt) })
  events.push({ eventAction: 'last update of RDAP database', eventDate: new Date().toISOString() })
  return {
    objectClassName: 'domain',
    handle: `${name.replaceAll('.', '_').toUpperCase()}-SIM`,
    ldhName: registry.name === 'verisign' ? name.toUpperCase() : name,
    rdapConformance: ['rdap_level_0', ...(service.style === 'redacted' ? ['redacted'] : [])],
    status: registration.statuses,
    events,
    nameservers: found.nameServers.map((server) => ({
      objectClassName: 'nameserver',
      ldhName: server,
    })),
    entities: hides.includes('registrar') ? [] : entities(service.style, registration.registrar),
    secureDNS: { delegationSigned: false },
    links: [{ value: selfUrl, rel: 'self', href: selfUrl, type: 'application/rdap+json' }],
    notices: [
      { title: 'Terms of Use', description: ['This registry is part of a simulated world.'] },
    ],
    ...(service.style === 'redacted'
      ? {
          redacted: [
            {
              name: { description: 'Registrant Name' },
              prePath: '$.entities[0]',
              method: 'removal',
            },
          ],
        }
      : {}),
  }
}

/** The body of the reply for a free name. Source: RFC 9083 section 6. */
export function notFoundBody(name: string): unknown {
  return { errorCode: 404, title: 'Not Found', description: [`${name} is not registered`] }
}

/** `2026-01-02T03:04:05Z` written with the offset +02:00. */
function withOffset(iso: string): string {
  return new Date(Date.parse(iso) + 7_200_000).toISOString().replace(/\.\d+Z$/, '.000+02:00')
}

function entities(style: RdapService['style'], registrar: string): unknown[] {
  const ianaId = REGISTRARS.find(([name]) => name === registrar)?.[1] ?? '9999'
  const publicIds = [{ type: 'IANA Registrar ID', identifier: ianaId }]
  const abuse = {
    objectClassName: 'entity',
    roles: ['abuse'],
    vcardArray: vcard([
      ['fn', 'Abuse desk'],
      ['email', 'abuse@registrar.example'],
    ]),
  }
  const base = { objectClassName: 'entity', handle: ianaId, roles: ['registrar'], publicIds }
  switch (style) {
    case 'org':
      return [
        {
          ...base,
          vcardArray: vcard([
            ['fn', ''],
            ['org', registrar],
          ]),
          entities: [abuse],
        },
      ]
    case 'jscard':
      return [
        {
          ...base,
          jscard: { '@type': 'Card', version: '1.0', name: { full: registrar } },
          legalRepresentative: registrar,
        },
      ]
    case 'nested':
      return [
        {
          objectClassName: 'entity',
          roles: ['registrant'],
          vcardArray: vcard([['fn', 'REDACTED FOR PRIVACY']]),
        },
        { ...base, vcardArray: vcard([['fn', registrar]]), entities: [abuse] },
      ]
    default:
      return [{ ...base, vcardArray: vcard([['fn', registrar]]), entities: [abuse] }]
  }
}

function vcard(rows: readonly (readonly [string, string])[]): unknown[] {
  return [
    'vcard',
    [['version', {}, 'text', '4.0'], ...rows.map(([name, value]) => [name, {}, 'text', value])],
  ]
}
