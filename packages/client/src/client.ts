import type { AccountView } from '@plumbline/contract/account'
import type { Explain } from '@plumbline/contract/explain'
import type { KeyList } from '@plumbline/contract/keys'
import type { LedgerPage } from '@plumbline/contract/ledger'
import type { LookupView } from '@plumbline/contract/lookup'
import type { OffersView } from '@plumbline/contract/plans'
import type { Product } from '@plumbline/contract/products'
import type { RequestOf } from '@plumbline/contract/requests'
import type { ResultOf } from '@plumbline/contract/results'
import type { UsagePart, UsageView } from '@plumbline/contract/usage'
import { batchCalls, type BatchCalls } from './batches.ts'
import { openConnection, queryOf, type CallOptions, type ConnectionOptions } from './connection.ts'
import { privacyCalls, type PrivacyCalls } from './privacy.ts'
import { webhookCalls, type WebhookCalls } from './webhooks.ts'

/** A lookup's result; `explain` is present if requested. */
export type Lookup<P extends Product> = ResultOf<P> & { readonly explain?: Explain }

/** Looks up one record with one product. */
export type LookUp<P extends Product> = (
  request: RequestOf<P>,
  options?: CallOptions,
) => Promise<Lookup<P>>

/** Days and grouping of usage; omitted options have the service's default. */
export interface UsageQuery {
  /** First day, `2026-11-01`. */
  readonly from?: string
  /** Last day, inclusive. */
  readonly to?: string
  readonly by?: readonly UsagePart[]
}

/** The calls of the service. Each rejects with `RefusedError` or `ConnectionError`. */
export interface Client {
  readonly email: LookUp<'email'>
  readonly ip: LookUp<'ip'>
  readonly phone: LookUp<'phone'>
  readonly domain: LookUp<'domain'>
  readonly deliverability: LookUp<'deliverability'>
  readonly contactIntel: LookUp<'contact-intel'>
  readonly fraudSignals: LookUp<'fraud-signals'>
  /** Looks up one record with the product of a name. */
  lookUp<P extends Product>(
    product: P,
    request: RequestOf<P>,
    options?: CallOptions,
  ): Promise<Lookup<P>>
  account(options?: CallOptions): Promise<AccountView>
  /** Usage of the account, by day unless grouped otherwise. */
  usage(asked?: UsageQuery, options?: CallOptions): Promise<UsageView>
  /** A page of the account's ledger, newest entry first. */
  ledger(page?: { limit?: number; cursor?: string }, options?: CallOptions): Promise<LedgerPage>
  /** The keys that the account has had, newest first; never the keys themselves. */
  keys(options?: CallOptions): Promise<KeyList>
  /** Plans and packs with their prices. */
  plans(options?: CallOptions): Promise<OffersView>
  /** Begins an asynchronous lookup, with the time limits of a batch. */
  begin<P extends Product>(
    product: P,
    request: RequestOf<P>,
    options?: CallOptions,
  ): Promise<LookupView>
  /** The state of an asynchronous lookup; `wait`: seconds to wait for its end, at most 30. */
  lookup(id: string, wait?: number, options?: CallOptions): Promise<LookupView>
  readonly batches: BatchCalls
  readonly webhooks: WebhookCalls
  readonly privacy: PrivacyCalls
}

/**
 * Makes a client of a service.
 *
 * @param options `baseUrl` without path, `key` as it was shown when created
 */
export function createClient(options: ConnectionOptions): Client {
  const connection = openConnection(options)
  const lookUp = <P extends Product>(
    product: P,
    request: RequestOf<P>,
    call?: CallOptions,
  ): Promise<Lookup<P>> =>
    connection.json<Lookup<P>>({ method: 'POST', path: `/v1/${product}`, json: request, ...call })
  return {
    email: (request, call) => lookUp('email', request, call),
    ip: (request, call) => lookUp('ip', request, call),
    phone: (request, call) => lookUp('phone', request, call),
    domain: (request, call) => lookUp('domain', request, call),
    deliverability: (request, call) => lookUp('deliverability', request, call),
    contactIntel: (request, call) => lookUp('contact-intel', request, call),
    fraudSignals: (request, call) => lookUp('fraud-signals', request, call),
    lookUp,
    account: (call) =>
      connection.json<AccountView>({ method: 'GET', path: '/v1/account', ...call }),
    usage: ({ from, to, by } = {}, call) => {
      const path = `/v1/usage${queryOf({ from, to, by: by?.join(',') })}`
      return connection.json<UsageView>({ method: 'GET', path, ...call })
    },
    ledger: (page = {}, call) =>
      connection.json<LedgerPage>({ method: 'GET', path: `/v1/ledger${queryOf(page)}`, ...call }),
    plans: (call) => connection.json<OffersView>({ method: 'GET', path: '/v1/plans', ...call }),
    keys: (call) => connection.json<KeyList>({ method: 'GET', path: '/v1/keys', ...call }),
    begin: (product, request, call) =>
      connection.json<LookupView>({
        method: 'POST',
        path: `/v1/${product}`,
        json: request,
        headers: { prefer: 'respond-async' },
        ...call,
      }),
    lookup: (id, wait = 0, call) => {
      const path = `/v1/lookups/${encodeURIComponent(id)}${queryOf({ wait })}`
      return connection.json<LookupView>({ method: 'GET', path, waitSeconds: wait, ...call })
    },
    batches: batchCalls(connection),
    webhooks: webhookCalls(connection),
    privacy: privacyCalls(connection),
  }
}
