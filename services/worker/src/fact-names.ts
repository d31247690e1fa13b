import type { Check } from '@plumbline/contract/products'
import { registrationKey } from '@plumbline/domain/registry'
import { acceptAllKey, probeResultKey } from '@plumbline/email/probe-cache'
import { parseMailbox } from '@plumbline/email/syntax'
import { KEYS } from '@plumbline/phone/purchase-records'
import type { FactNames } from '@plumbline/pipeline/erasure-stores'
import { nameFor } from '@plumbline/ports/sharing'

/** Cached facts may have been stored with either value of the setting. */
const SHARINGS = [{ shareFindings: true }, { shareFindings: false }]

/**
 * Names under which engines may have cached facts about a subject for an account. A purchase in
 * flight is not included: it reveals nothing about the number, and without it the number would be
 * bought twice.
 */
export function factNames(check: Check, subject: string, accountId: string): FactNames {
  switch (check) {
    case 'email': {
      const mailbox = parseMailbox(subject)
      const address = mailbox.ok ? `${mailbox.local}@${mailbox.domain}` : subject
      return inMemory(SHARINGS.map((sharing) => probeResultKey(address, accountId, sharing)))
    }
    case 'phone': {
      const name = KEYS.verdict(subject)
      return {
        memory: [],
        durable: SHARINGS.map((sharing) => nameFor(name, accountId, sharing)),
      }
    }
    case 'ip':
      // Answered from data on this machine; nothing is cached.
      return inMemory([])
    case 'domain': {
      const names = SHARINGS.map((sharing) => registrationKey(subject, accountId, sharing))
      return inMemory([...names, acceptAllKey(subject)])
    }
  }
}

function inMemory(memory: readonly string[]): FactNames {
  return { memory, durable: [] }
}
