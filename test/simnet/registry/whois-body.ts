import { REGISTRAR_WHOIS, REGISTRARS } from '../world/registries.ts'
import type { WhoisFormat } from '../world/registries.ts'
import type { Registered } from './lookup.ts'

/** A registry's texts for a registered name, a free name, and too many queries. */
export interface WhoisWriter {
  readonly found: (found: Registered) => string
  readonly free: (name: string) => string
  readonly throttled: string
  /** The name in a query, which may have a form of the registry's own. */
  readonly query: (line: string) => string
}

const plainQuery = (line: string): string => line.trim().split(/\s+/).at(-1) ?? ''
const day = (iso: string): string => iso.slice(0, 10)
const seconds = (iso: string): string => iso.slice(0, 19).replace('T', ' ')
const camel = (status: string): string =>
  status.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())

/** Layouts as the registries of these zones use them (2026-11). */
export const WHOIS_WRITERS: Readonly<Record<WhoisFormat, WhoisWriter>> = {
  icann: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        `Domain Name: ${name.toUpperCase()}`,
        `Registry Domain ID: 12345678_DOMAIN-SIM`,
        `Registrar WHOIS Server: ${REGISTRAR_WHOIS}`,
        `Updated Date: ${registration.createdAt}`,
        `Creation Date: ${registration.createdAt}`,
        `Registry Expiry Date: ${registration.expiresAt}`,
        `Registrar: ${registration.registrar}`,
        `Registrar IANA ID: ${REGISTRARS.find(([known]) => known === registration.registrar)?.[1] ?? ''}`,
        ...registration.statuses.map(
          (status) => `Domain Status: ${camel(status)} https://icann.org/epp#${camel(status)}`,
        ),
        ...nameServers.map((server) => `Name Server: ${server.toUpperCase()}`),
        'DNSSEC: unsigned',
        `>>> Last update of WHOIS database: ${new Date().toISOString()} <<<`,
      ),
    free: (name) =>
      lines(
        `No match for "${name.toUpperCase()}".`,
        `>>> Last update of WHOIS database: ${new Date().toISOString()} <<<`,
      ),
    throttled: 'WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS\r\n',
  },
  thin: {
    query: plainQuery,
    found: ({ name, nameServers }) =>
      lines(
        `Domain Name: ${name.toUpperCase()}`,
        `Registrar WHOIS Server: ${REGISTRAR_WHOIS}`,
        ...nameServers.map((server) => `Name Server: ${server.toUpperCase()}`),
      ),
    free: (name) => lines(`No match for domain "${name.toUpperCase()}".`),
    throttled: 'Your connection limit exceeded. Please slow down and try again later.\r\n',
  },
  denic: {
    query: plainQuery,
    found: ({ name, nameServers, registration }) =>
      lines(
        `Domain: ${name}`,
        ...nameServers.map((server) => `Nserver: ${server}`),
        'Status: connect',
        `Changed: ${registration.createdAt.replace('Z', '+01:00')}`,
      ),
    free: (name) => lines(`Domain: ${name}`, 'Status: free'),
    throttled: '% Error: 55000000002 Connection refused; access control limit exceeded\r\n',
  },
  it: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        `Domain:             ${name}`,
        'Status:             ok',
        'Signed:             no',
        `Created:            ${seconds(registration.createdAt)}`,
        `Last Update:        ${seconds(registration.createdAt)}`,
        `Expire Date:        ${day(registration.expiresAt)}`,
        '',
        'Registrant',
        '  Organization:     hidden',
        `  Created:          ${seconds(registration.createdAt)}`,
        '',
        'Registrar',
        `  Organization:     ${registration.registrar}`,
        '  Name:             SIM-REG',
        '',
        'Nameservers',
        ...nameServers.map((server) => `  ${server}`),
      ),
    free: (name) => lines(`Domain:             ${name}`, 'Status:             AVAILABLE'),
    throttled: 'Query rate limit exceeded. Please try again later.\r\n',
  },
  be: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        '% .be Whois Server 6.1',
        '',
        `Domain:\t${name}`,
        'Status:\tNOT AVAILABLE',
        `Registered:\t${new Date(registration.createdAt).toDateString()}`,
        '',
        'Registrar:',
        `\tName:\t${registration.registrar}`,
        '\tWebsite:\thttps://registrar.example',
        '',
        'Nameservers:',
        ...nameServers.map((server) => `\t${server}`),
      ),
    free: (name) => lines('% .be Whois Server 6.1', '', `Domain:\t${name}`, 'Status:\tAVAILABLE'),
    throttled: '% Excessive querying, grace period of 30 seconds\r\n-1: Quota exceeded\r\n',
  },
  jp: {
    query: (line) => plainQuery(line).replace(/\/e$/i, ''),
    found: ({ name, registration, nameServers }) =>
      lines(
        '[ JPRS database provides information on network administration. ]',
        '',
        'Domain Information:',
        `[Domain Name]                   ${name.toUpperCase()}`,
        '',
        '[Registrant]                    Simulated Holder K.K.',
        '',
        ...nameServers.map((server) => `[Name Server]                   ${server}`),
        '[Signing Key]                   ',
        '',
        `[Created on]                    ${day(registration.createdAt).replaceAll('-', '/')}`,
        `[Expires on]                    ${day(registration.expiresAt).replaceAll('-', '/')}`,
        '[Status]                        Active',
        `[Last Updated]                  ${seconds(registration.createdAt).replaceAll('-', '/')} (JST)`,
      ),
    free: () =>
      lines('[ JPRS database provides information on network administration. ]', '', 'No match!!'),
    throttled:
      'The number of queries from your address has exceeded the limit. Please try again later.\r\n',
  },
  ru: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        '% TCI Whois Service. Terms of use:',
        '% https://tcinet.ru/documents/whois_ru_rf.pdf (in Russian)',
        '',
        `domain:        ${name.toUpperCase()}`,
        ...nameServers.map((server) => `nserver:       ${server}.`),
        'state:         REGISTERED, DELEGATED, VERIFIED',
        'org:           LLC "Simulated"',
        `registrar:     ${registration.registrar}`,
        `created:       ${registration.createdAt}`,
        `paid-till:     ${registration.expiresAt}`,
        `free-date:     ${day(registration.expiresAt)}`,
        'source:        TCI',
      ),
    free: () =>
      lines(
        '% TCI Whois Service. Terms of use:',
        '',
        'No entries found for the selected source(s).',
      ),
    throttled: '% You have exceeded allowed connection rate\r\n',
  },
  eu: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        '% The WHOIS service offered by EURid',
        `% WHOIS ${name}`,
        `Domain: ${name}`,
        'Script: LATIN',
        '',
        'Registrant:',
        '        NOT DISCLOSED!',
        '',
        'Registrar:',
        `        Name: ${registration.registrar}`,
        '        Website: https://registrar.example',
        '',
        'Name servers:',
        ...nameServers.map((server) => `        ${server}`),
      ),
    free: (name) =>
      lines(
        '% The WHOIS service offered by EURid',
        `% WHOIS ${name}`,
        `Domain: ${name}`,
        'Script: LATIN',
        'Status: AVAILABLE',
      ),
    throttled: '% Query rate limit reached. Please try again later, -1\r\n',
  },
  se: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        '# Result of search for registered domain names under',
        '# the .se top level domain.',
        'state:            active',
        `domain:           ${name}`,
        'holder:           simsim0001-00001',
        `created:          ${day(registration.createdAt)}`,
        `modified:         ${day(registration.createdAt)}`,
        `expires:          ${day(registration.expiresAt)}`,
        ...nameServers.map((server) => `nserver:          ${server}`),
        'dnssec:           unsigned delegation',
        'registry-lock:    unlocked',
        'status:           ok',
        `registrar:        ${registration.registrar}`,
      ),
    free: (name) => lines('# the .se top level domain.', `domain "${name}" not found.`),
    throttled: '# Too many queries from your address. Limit exceeded.\r\n',
  },
  pl: {
    query: plainQuery,
    found: ({ name, registration, nameServers }) =>
      lines(
        '',
        `DOMAIN NAME:           ${name}`,
        'registrant type:       organization',
        ...nameServers.map(
          (server, i) =>
            `${i === 0 ? 'nameservers:           ' : '                       '}${server}.`,
        ),
        `created:               ${seconds(registration.createdAt).replaceAll('-', '.')}`,
        `last modified:         ${seconds(registration.createdAt).replaceAll('-', '.')}`,
        `renewal date:          ${seconds(registration.expiresAt).replaceAll('-', '.')}`,
        '',
        'no option',
        '',
        'dnssec:                Unsigned',
        '',
        'REGISTRAR:',
        registration.registrar,
        'ul. Testowa 1',
        '00-001 Warszawa',
      ),
    free: (name) =>
      lines(
        '',
        `No information available about domain name ${name} in the Registry NASK database.`,
      ),
    throttled: 'request limit exceeded\r\n',
  },
  ch: {
    query: plainQuery,
    found: ({ name, registration }) =>
      lines(
        `Domain name\t${name}`,
        '',
        'Registrar',
        registration.registrar,
        '',
        'First registration date',
        day(registration.createdAt),
      ),
    free: () => lines('We do not have an entry in our database matching your query.'),
    throttled:
      'Requests of this client are not permitted. Please use https://www.nic.ch/whois/ for queries.\r\n',
  },
}

function lines(...all: string[]): string {
  return `${all.join('\r\n')}\r\n`
}
