import type { AccountView } from '@plumbline/contract/account'
import type { BatchView } from '@plumbline/contract/batch-view'
import * as format from './format.ts'

/** Something that needs the user's attention, and the page for it. */
export interface Attention {
  readonly text: string
  readonly action: { readonly href: string; readonly label: string } | null
}

/**
 * Milliseconds for which a failed batch is listed: three days, so that a weekend does not hide it.
 */
const FAILED_FOR = 3 * 86_400_000

/**
 * Reasons for attention, the most urgent first.
 * @param batches the newest of the account
 * @param now milliseconds since the Unix epoch
 */
export function attentionOf({
  account,
  batches,
  now,
}: {
  readonly account: Pick<AccountView, 'credits' | 'spending'> | undefined
  readonly batches: readonly BatchView[]
  readonly now: number
}): readonly Attention[] {
  return [
    ...(account === undefined ? [] : [ofCredits(account), ofDay(account)]),
    ofWaiting(batches.filter(({ status }) => status === 'ready')),
    ofFailed(
      batches.filter(
        ({ status, failed_at: at }) =>
          status === 'failed' && typeof at === 'string' && now - Date.parse(at) < FAILED_FOR,
      ),
    ),
  ].filter((each) => each !== null)
}

const PLANS = { href: '/app/credits', label: 'See plans and packs' }

function ofCredits({ credits, spending }: Pick<AccountView, 'credits' | 'spending'>) {
  const left = credits.allowance + credits.packs
  const { low_mark: mark } = spending
  if (left === 0) {
    return {
      text: 'No credits are left. Lookups and batches go on when the month starts anew, or with a pack.',
      action: PLANS,
    }
  }
  if (mark === null || left >= mark) return null
  const which = format.counted(left, 'credit is left', 'credits are left')
  return { text: `${which}, below the mark of ${format.number(mark)}.`, action: PLANS }
}

function ofDay({ spending }: Pick<AccountView, 'credits' | 'spending'>) {
  const { today, daily_limit: limit } = spending
  if (limit === null || today < limit) return null
  return {
    text: `The daily spending limit of ${format.number(limit)} is used up. Lookups and batches go on tomorrow.`,
    action: { href: '/app/settings', label: 'Change the limit' },
  }
}

/** Batches that wait to be started, or must be corrected first. */
function ofWaiting(waiting: readonly BatchView[]): Attention | null {
  const [first] = waiting
  if (first === undefined) return null
  const isMended = waiting.every(({ error }) => error === null)
  if (waiting.length === 1) {
    return {
      text: isMended
        ? 'A batch is read and waits to be started.'
        : 'A batch is read and cannot start as it is.',
      action: { href: `/app/batches/${first.id}`, label: 'Look at it' },
    }
  }
  const which = format.counted(waiting.length, 'batch', 'batches')
  return {
    text: isMended
      ? `${which} are read and wait to be started.`
      : `${which} are read and wait for you; not each can start as it is.`,
    action: { href: '/app/batches?state=ready', label: 'Look at them' },
  }
}

function ofFailed(failed: readonly BatchView[]): Attention | null {
  const [first] = failed
  if (first === undefined) return null
  if (failed.length === 1) {
    return {
      text: 'A batch failed.',
      action: { href: `/app/batches/${first.id}`, label: 'See why' },
    }
  }
  return {
    text: `${format.counted(failed.length, 'batch', 'batches')} failed.`,
    action: { href: '/app/batches?state=failed', label: 'See why' },
  }
}
