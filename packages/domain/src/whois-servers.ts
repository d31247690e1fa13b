/** Query format of a server. */
export interface WhoisForm {
  /** Host names of the server. */
  readonly host: RegExp
  readonly query: (name: string) => string
  readonly source: string
}

/** Query formats other than the bare name. */
const WHOIS_FORMS: readonly WhoisForm[] = [
  {
    host: /(?:^|\.)verisign-grs\.com$|^whois\.nic\.(?:cc|tv|name)$/,
    query: (name) => `domain ${name}`,
    source: 'Verisign: without the word, hosts of that name are listed too',
  },
  {
    host: /^whois\.denic\.de$/,
    query: (name) => `-T dn,ace ${name}`,
    source: 'DENIC, documentation of whois.denic.de: only the domain, name in A-labels',
  },
  {
    host: /^whois\.jprs\.jp$|^whois\.nic\.ad\.jp$/,
    query: (name) => `${name}/e`,
    source: 'JPRS: without the suffix the reply is in Japanese',
  },
  {
    host: /^whois\.(?:punktum|dk-hostmaster)\.dk$/,
    query: (name) => `--show-handles ${name}`,
    source: 'Punktum dk, documentation of its WHOIS',
  },
]

/** Zones below a TLD with a server of their own, which the root server does not refer to. */
export const WHOIS_ZONES: ReadonlyMap<string, string> = new Map([
  ['ac.uk', 'whois.nic.ac.uk'],
  ['gov.uk', 'whois.nic.ac.uk'],
])

/** The query line for a name. */
export function whoisQuery(host: string, name: string): string {
  const form = WHOIS_FORMS.find((row) => row.host.test(host))
  return form === undefined ? name : form.query(name)
}
