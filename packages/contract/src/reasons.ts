import type { Check } from './products.ts'

/**
 * Closed reason codes of outcomes, and what each means to a client.
 * Shown in `explain` and in `result.<part>.reason`.
 */
export const REASONS = {
  email: {
    accepted: 'The server accepted the recipient.',
    accept_all: 'The server accepts every recipient of this domain.',
    accept_means_nothing:
      'The provider accepts unknown recipients too, so acceptance proves little.',
    accepted_exists: 'A refusal whose text says that the mailbox exists (rate or restriction).',
    invalid_syntax: 'Not an RFC 5321 Mailbox.',
    domain_literal: 'An address literal; mail to it is not probed.',
    no_domain: 'The domain does not exist.',
    null_mx: 'The domain says that it takes no mail (RFC 7505).',
    no_mail_host: 'The domain has neither MX nor address records.',
    mailbox_not_found: 'The server says that the mailbox does not exist.',
    mailbox_disabled: 'The server says that the mailbox is disabled.',
    mailbox_full: 'The mailbox exists and is full.',
    relay_denied: 'The server does not take mail for this domain.',
    greylisted: 'The server asks to come back later.',
    blocked: 'The server refuses the verifier, not the recipient.',
    blanket_reject: 'The server gives every recipient the same refusal.',
    rate_limited: 'The server limits how fast it is asked.',
    server_error: 'The server has a temporary fault.',
    unclassified_reply: 'A reply that no rule knows.',
    smtputf8_unsupported: 'The server does not take internationalised local parts.',
    connect_failed: 'No mail host could be reached.',
    protocol_error: 'The server broke the protocol or hung up.',
    smtp_unavailable: 'The verifier cannot reach port 25.',
    probing_off: 'Probing is switched off for this provider or altogether.',
    probe_limit: 'A guard against too many probes held this one back.',
    opted_out: 'The domain asked not to be probed.',
    dns_failed: 'The domain name servers gave no usable answer.',
    dns_unavailable:
      'The DNS resolver in use cannot vouch for the root of the DNS: what it denies is unknown.',
    unsafe_host: 'Every mail host has a special-purpose address.',
    timeout: 'Time ran out before there was an answer.',
  },
  phone: {
    hlr_connected: 'The network says that the number is connected.',
    hlr_absent: 'The network knows the subscriber, who is out of reach.',
    hlr_unknown_subscriber: 'The network knows no such subscriber.',
    hlr_undetermined: 'The network could not tell.',
    hlr_in_doubt: 'A paid query was begun and its outcome was lost; it is not bought again.',
    hlr_not_applicable:
      'A number that no network is asked about (landline, toll-free and the like).',
    hlr_paused: 'The provider is paused (credit, keys or spending cap).',
    hlr_failed: 'The provider failed.',
    hlr_throttled: 'The provider limits how fast it is asked.',
    no_hlr_provider: 'No HLR provider is configured; the numbering plan alone answers.',
    impossible_number: 'Wrong length or country code.',
    invalid_number: 'Not in a range that is in use.',
    timeout: 'Time ran out before there was an answer.',
  },
  ip: {
    located: 'A routable address, looked up.',
    not_routable: 'Not globally reachable by the IANA registries.',
    no_data: 'A routable address of which the installed data knows nothing.',
    timeout: 'Time ran out before there was an answer.',
  },
  domain: {
    registered: 'The registry has it.',
    registration_lapsed:
      'The registration has run out: the name is in redemption or about to be deleted.',
    unregistered: 'An authoritative server says that it is not registered.',
    invalid_name: 'Not a well-formed domain name.',
    public_suffix: 'A public suffix itself, not a registrable name.',
    no_registry_data: 'No RDAP or WHOIS server gives data for this zone.',
    registry_throttled: 'The registry limits how fast it is asked.',
    registry_failed: 'The registry gave no usable answer.',
    dns_unavailable:
      'The DNS resolver in use cannot vouch for the root of the DNS, and led to no registry.',
    timeout: 'Time ran out before there was an answer.',
  },
} as const satisfies Record<Check, Record<string, string>>

/** The reason codes of a check; for a union of checks, of any of them. */
export type Reason<C extends Check> = C extends Check ? keyof (typeof REASONS)[C] : never

/** Reasons of phone outcomes that lack the network's answer, so that their status is `unknown`. */
export const PHONE_UNKNOWN: readonly Reason<'phone'>[] = [
  'hlr_undetermined',
  'hlr_in_doubt',
  'hlr_paused',
  'hlr_failed',
  'hlr_throttled',
  'timeout',
]
