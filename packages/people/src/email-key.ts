import { domainToASCII } from 'node:url'

/** Providers that read past dots before the `@`, with the name that stands for all of theirs. */
const DOTLESS: Readonly<Record<string, string>> = {
  'gmail.com': 'gmail.com',
  'googlemail.com': 'gmail.com',
}

/**
 * The form of an address in which two are the same mailbox: small letters, the name of its host in ASCII, without
 * what stands behind a plus, and without dots where the provider ignores them. Nothing is sent to it.
 */
export function emailKeyOf(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = mailDomainOf(email)
  const local = email.slice(0, at).normalize('NFC').toLowerCase()
  const plus = local.indexOf('+')
  const bare = plus > 0 ? local.slice(0, plus) : local
  const one = DOTLESS[domain]
  return one === undefined ? `${bare}@${domain}` : `${bare.replaceAll('.', '')}@${one}`
}

/** The host of an address, in ASCII and small letters; as it stands where it has no such form. */
export function mailDomainOf(email: string): string {
  const domain = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .replace(/\.$/, '')
  return domainToASCII(domain) || domain
}
