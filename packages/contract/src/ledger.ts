import { z } from 'zod'
import { PRODUCTS } from './products.ts'
import { USAGE_SOURCES } from './usage.ts'

/** Kinds of entries of the ledger. */
export const LEDGER_KINDS = [
  'grant',
  'expire',
  'pack',
  'goodwill',
  'debit',
  'refund',
  'give_back',
  'hold',
  'settle',
  'release',
] as const
/** Kind of an entry of the ledger. */
export type LedgerKind = (typeof LEDGER_KINDS)[number]

/** Entries of a page, by default and at most. */
export const LEDGER_PAGE = { default: 50, max: 1_000 } as const

/** One move of credits, as the account sees it. */
export const ledgerEntry = z.strictObject({
  at: z.iso.datetime(),
  kind: z.enum(LEDGER_KINDS),
  credits: z.int().meta({ description: 'What it added to the balance; below zero where it took.' }),
  held: z.int().meta({ description: 'What it added to the credits set aside for batches.' }),
  balance: z.int().meta({ description: 'What could be spent after it.' }),
  product: z.enum(PRODUCTS).nullable(),
  source: z.enum(USAGE_SOURCES).nullable(),
  batch_id: z.string().nullable(),
  batch_name: z
    .string()
    .nullable()
    .meta({ description: 'What the batch, or else its file, is called.' }),
  detail: z.string().nullable().meta({ description: 'Plan, pack, or why it was given back.' }),
})
/** One move of credits. */
export type LedgerEntry = z.infer<typeof ledgerEntry>

/** A page of the ledger, newest entry first. */
export const ledgerPage = z.strictObject({
  data: z.array(ledgerEntry),
  next_cursor: z.string().nullable(),
})
/** A page of the ledger. */
export type LedgerPage = z.infer<typeof ledgerPage>
