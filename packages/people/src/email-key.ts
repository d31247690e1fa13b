import { domainToASCII } from 'node:url'

/** What a provider reads past before the `@`, and the name that stands for all of its names. */
interface Reading {
  readonly ignored: RegExp
  readonly name: string
}

/** Source: Gmail help, "Dots don't matter in Gmail addresses". */
const GMAIL: Reading = { ignored: /\./g, name: 'gmail.com' }
/**
 * Source: Proton support, "Addresses and aliases": dots, hyphens and underscores make no other
 * mailbox.
 */
const PROTON: Reading = { ignored: /[._-]/g, name: 'proton.me' }

/** Providers that read past signs, by the names that they give addresses under. */
const READINGS: Readonly<Record<string, Reading>> = {
  'gmail.com': GMAIL,
  'googlemail.com': GMAIL,
  'proton.me': PROTON,
  'protonmail.com': PROTON,
  'protonmail.ch': PROTON,
  'pm.me': PROTON,
}

/**
 * The form of an address in which two are the same mailbox: small letters, the name of its host in
 * ASCII, without what stands behind a plus, and without the signs that its provider ignores.
 * Nothing is sent to it.
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

/** The host of an address, in ASCII and small letters; as it stands where it has no such form. */
export function mailDomainOf(email: string): string {
  const domain = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/\.$/, '')
  return domainToASCII(domain) || domain
}
