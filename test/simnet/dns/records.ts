/** Type numbers of the world's records. Source: IANA DNS parameters. */
export const TYPE = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  ANY: 255,
} as const

/** Response codes. Source: RFC 1035 4.1.1. */
export const RCODE = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
} as const

/** One record to be encoded; names without a trailing dot, `''` the root. */
export type Answer =
  | { readonly type: 'A'; readonly name: string; readonly address: string }
  | { readonly type: 'NS' | 'CNAME' | 'PTR'; readonly name: string; readonly target: string }
  | {
      readonly type: 'MX'
      readonly name: string
      readonly preference: number
      readonly exchange: string
    }
  | { readonly type: 'TXT'; readonly name: string; readonly text: string }
  | { readonly type: 'SOA'; readonly name: string }

/** The zone's reply to a question. */
export interface Reply {
  readonly rcode: number
  readonly answers: readonly Answer[]
  /** The zone whose SOA proves a negative answer. */
  readonly soaOf?: string
  /** Name of the fault on the wire (`wire-faults.ts`), in place of or during the reply. */
  readonly fault?: string
}
