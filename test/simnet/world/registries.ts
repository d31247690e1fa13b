/** A registry of the world: its zones, protocols and behaviour. */
export interface Registry {
  readonly name: string
  readonly tlds: readonly string[]
  readonly rdap?: RdapService
  readonly whois?: WhoisService
  /** Dates that this registry does not publish. */
  readonly hides?: readonly ('created' | 'expires' | 'registrar')[]
}

/** How a registry replies over RDAP. */
export interface RdapService {
  readonly host: string
  /** Path of the service, which begins and ends with a slash. */
  readonly path: string
  /** Rate limit; beyond it, the reply is 429 with Retry-After. */
  readonly perSecond?: number
  readonly burst?: number
  readonly delayMs?: number
  /** Form of the reply: place of the registrar, redaction, format of dates. */
  readonly style?: 'plain' | 'nested' | 'org' | 'jscard' | 'redacted' | 'offset-dates'
  /** Host and path to which every request is redirected. */
  readonly redirect?: { readonly host: string; readonly path: string }
  /** Name of a fault of `registry/rdap-faults.ts`. */
  readonly fault?: string
}

/** How a registry replies on port 43. */
export interface WhoisService {
  readonly server: string
  readonly format: WhoisFormat
  readonly perSecond?: number
  readonly burst?: number
  readonly delayMs?: number
  /** Name of a fault of `registry/whois-faults.ts`. */
  readonly fault?: string
}

/** Layouts of WHOIS replies; see `registry/whois-body.ts`. */
export type WhoisFormat =
  | 'icann'
  | 'denic'
  | 'it'
  | 'be'
  | 'jp'
  | 'ru'
  | 'eu'
  | 'se'
  | 'pl'
  | 'ch'
  | 'thin'

/** The WHOIS server of the world's registrars, to which thin registries refer. */
export const REGISTRAR_WHOIS = 'whois.registrar.example'

/** Registries with the host names that IANA lists for them, each at its own loopback address. */
export const REGISTRIES: readonly Registry[] = [
  {
    name: 'verisign',
    tlds: ['com'],
    rdap: { host: 'rdap.verisign.com', path: '/com/v1/' },
    whois: { server: 'whois.verisign-grs.com', format: 'icann' },
  },
  {
    name: 'verisign-net',
    tlds: ['net'],
    rdap: { host: 'rdap.verisign-net.com', path: '/net/v1/', style: 'offset-dates' },
  },
  {
    name: 'pir',
    tlds: ['org'],
    rdap: {
      host: 'rdap.publicinterestregistry.org',
      path: '/rdap/',
      redirect: { host: 'rdap.publicinterestregistry.org', path: '/v2/' },
    },
  },
  {
    name: 'info-registry',
    tlds: ['info'],
    rdap: { host: 'rdap.info-registry-sim.net', path: '/rdap/', perSecond: 5, burst: 5 },
  },
  {
    name: 'google-registry',
    tlds: ['dev', 'app'],
    rdap: { host: 'pubapi.registry.google', path: '/rdap/', style: 'nested' },
  },
  {
    name: 'nominet',
    tlds: ['uk'],
    rdap: { host: 'rdap.nominet.uk', path: '/uk/', style: 'redacted' },
  },
  { name: 'afnic', tlds: ['fr'], rdap: { host: 'rdap.nic.fr', path: '/', style: 'org' } },
  {
    name: 'weare',
    tlds: ['ie'],
    rdap: { host: 'rdap.weare.ie', path: '/rdap/' },
    hides: ['expires'],
  },
  {
    name: 'registro',
    tlds: ['br'],
    rdap: { host: 'rdap.registro.br', path: '/', style: 'jscard' },
  },
  {
    name: 'centralnic',
    tlds: ['xyz', 'online'],
    rdap: { host: 'rdap.centralnic.com', path: '/xyz/', delayMs: 40 },
  },
  {
    name: 'denic',
    tlds: ['de'],
    whois: { server: 'whois.denic.de', format: 'denic' },
    hides: ['created', 'expires', 'registrar'],
  },
  { name: 'registro-it', tlds: ['it'], whois: { server: 'whois.nic.it', format: 'it' } },
  {
    name: 'dnsbelgium',
    tlds: ['be'],
    whois: { server: 'whois.dns.be', format: 'be', perSecond: 10, burst: 10 },
    hides: ['expires'],
  },
  {
    name: 'jprs',
    tlds: ['jp'],
    whois: { server: 'whois.jprs.jp', format: 'jp' },
    hides: ['registrar'],
  },
  { name: 'tci', tlds: ['ru'], whois: { server: 'whois.tcinet.ru', format: 'ru' } },
  {
    name: 'eurid',
    tlds: ['eu'],
    whois: { server: 'whois.eu', format: 'eu' },
    hides: ['created', 'expires'],
  },
  { name: 'iis', tlds: ['se'], whois: { server: 'whois.iis.se', format: 'se' } },
  { name: 'nask', tlds: ['pl'], whois: { server: 'whois.dns.pl', format: 'pl' } },
  { name: 'cc', tlds: ['cc'], whois: { server: 'whois.nic.cc', format: 'thin' } },
  { name: 'io', tlds: ['io'], whois: { server: 'whois.nic.io', format: 'icann' } },
]

/** Registrars of the world, with unassigned IANA ids. */
export const REGISTRARS: readonly (readonly [name: string, ianaId: string])[] = [
  ['Northwind Names LLC', '9901'],
  ['Plain Registrar GmbH', '9902'],
  ['Register Harbour, Inc.', '9903'],
  ['Dominios del Sur S.A.', '9904'],
  ['Nom & Fils SAS', '9905'],
  ['Key-Systems Test Registrar', '9906'],
]
