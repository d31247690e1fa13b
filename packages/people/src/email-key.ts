import { domainToASCII } from 'node:url'

/** Characters that a provider ignores before the `@`, and the main one of its domains. */
interface Reading {
  readonly ignored: RegExp
  readonly name: string
}

/** Source: Gmail help, "Dots don't matter in Gmail addresses". */
const GMAIL: Reading = { ignored: /\./g, name: 'gmail.com' }
/** Source: Proton support, "Addresses and aliases": dots, hyphens and underscores are ignored. */
const PROTON: Reading = { ignored: /[._-]/g, name: 'proton.me' }

/** Providers that ignore some characters before the @, by their domains. */
const READINGS: Readonly<Record<string, Reading>> = {
  'gmail.com': GMAIL,
  'googlemail.com': GMAIL,
  'proton.me': PROTON,
  'protonmail.com': PROTON,
  'protonmail.ch': PROTON,
  'pm.me': PROTON,
}

/**
 * Normalized address: equal if two addresses are the same mailbox. Lower case, ASCII domain,
 * without a plus tag and the characters that the provider ignores. Never used for sending.
 */
export function emailKeyOf(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = mailDomainOf(email)
  const local = email.slice(0, at).normalize('NFC').toLowerCase()
  const plus = local.indexOf('+')
  const bare = plus > 0 ? local.slice(0, plus) : local
  const reading = Object.hasOwn(READINGS, domain) ? READINGS[domain] : undefined
  if (reading === undefined) return `${bare}@${domain}`
  return `${bare.replaceAll(reading.ignored, '')}@${reading.name}`
}

/** The domain of an address, in ASCII and lower case; unchanged if it has no such form. */
export function mailDomainOf(email: string): string {
  const domain = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/\.$/, '')
  return domainToASCII(domain) || domain
}
