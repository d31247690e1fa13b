import { Problem } from '@plumbline/contract/problem'
import { getAccount, listAccounts } from '@plumbline/db/accounts'
import { listAudit } from '@plumbline/db/audit-log'
import { listPacks, listPlans } from '@plumbline/db/offers'
import { getUser } from '@plumbline/db/people/users'
import { readWorkers } from '@plumbline/db/workers'
import { readLastAudit } from '@plumbline/metering/audit-run'
import { PROVEN_MINUTES } from '@plumbline/people/session'
import { depth } from '@plumbline/queue/jobs'
import { QUEUE_NAMES } from '@plumbline/queue/names'
import express, { type ErrorRequestHandler, type Request, type Response } from 'express'
import { refuseForeignOrigin } from '../browser.ts'
import type { Context } from '../context.ts'
import { checkReadiness } from '../readiness.ts'
import { problemOf } from '../response.ts'
import type { Handler } from '../routes/handler.ts'
import { personOf } from '../session-access.ts'
import { accountPage, auditTable } from './account-page.ts'
import { OPERATOR_ACTS, type Form } from './acts.ts'
import { html, page, STYLE, table, type Html } from './html.ts'

/** Accounts of a search, acts of the trail. */
const ROWS_MAX = 200
const FORM_BYTES = 8_192

/**
 * The operator's pages below `/operator` on the admin port, for a signed-in user whom `user operator` named:
 * to reach the port is no identity. A form must come from a page of this port, and each act leaves a row in
 * the audit log.
 */
export function operatorPages(ctx: Context): express.Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', false)
  app.use((_req, res, next) => {
    res.set(HEADERS)
    next()
  })
  app.get('/operator/style.css', (_req, res) => void res.type('css').send(STYLE))
  const shown = (path: string, title: string, body: (req: Request) => Promise<Html>): void => {
    const show: Handler = async (req, res) => {
      await requireOperator(ctx, req)
      res.type('html').send(page(title, await body(req)))
    }
    app.get(path, (req, res) => show(req, res))
  }
  shown('/operator', 'Accounts', (req) => accountsPage(ctx, searchOf(req)))
  shown('/operator/plans', 'Plans', () => plansPage(ctx))
  shown('/operator/queues', 'Queues', () => queuesPage(ctx))
  shown('/operator/workers', 'Workers', () => workersPage(ctx))
  shown('/operator/audit', 'Audit trail', async () =>
    auditTable(await listAudit(ctx.db, { accountId: undefined, limit: ROWS_MAX })),
  )
  const showAccount = accountShown(ctx)
  app.get('/operator/accounts/:id', (req, res) => showAccount(req, res))
  const act = accountChanged(ctx)
  app.post(
    '/operator/accounts/:id/:act',
    express.text({ type: 'application/x-www-form-urlencoded', limit: FORM_BYTES }),
    (req, res) => act(req, res),
  )
  app.use(() => {
    throw missing()
  })
  app.use(refuse(ctx))
  return app
}

/** Shows one account. */
function accountShown(ctx: Context): Handler {
  return async (req, res) => {
    await requireOperator(ctx, req)
    await sendAccount(ctx, res, partOf(req, 'id'), null)
  }
}

/** Does an act to one account, and shows it with what came of that. */
function accountChanged(ctx: Context): Handler {
  return async (req, res) => {
    refuseForeignOrigin(req, undefined)
    const actor = await requireOperator(ctx, req, { acts: true })
    const accountId = partOf(req, 'id')
    const name = partOf(req, 'act')
    const act = Object.hasOwn(OPERATOR_ACTS, name) ? OPERATOR_ACTS[name] : undefined
    const account = await getAccount(ctx.db, accountId)
    if (act === undefined || account === undefined) throw missing()
    const said = await act(ctx.db, { actor, accountId }, formOf(req)).catch((error: unknown) => {
      if (error instanceof Problem) return error.message
      throw error
    })
    await sendAccount(ctx, res, accountId, said)
  }
}

/** A part of the path of the route. */
function partOf(req: Request, name: 'id' | 'act'): string {
  const part = req.params[name]
  return typeof part === 'string' ? part : ''
}

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

/**
 * The id of the signed-in operator; who acts has shown a second factor lately, where one is set.
 * @throws Problem 401 or 403 for everybody else
 */
async function requireOperator(
  ctx: Context,
  req: Request,
  { acts }: { readonly acts: boolean } = { acts: false },
): Promise<string> {
  const person = await personOf(ctx.access, req)
  if (person === undefined) {
    throw new Problem(
      'unauthorized',
      'Sign in to the app in this browser first, then load this page.',
    )
  }
  const { isOperator } = await getUser(ctx.db, person.userId)
  if (!isOperator) {
    throw new Problem(
      'forbidden',
      'These pages are the operator’s; "user operator EMAIL" names one.',
    )
  }
  const provenUntil = (person.provenAt?.getTime() ?? 0) + PROVEN_MINUTES * 60_000
  if (acts && person.hasFactor && provenUntil < Date.now()) {
    throw new Problem(
      'forbidden',
      'Show your second factor again in the settings of the app first.',
    )
  }
  return person.userId
}

async function sendAccount(
  ctx: Context,
  res: Response,
  id: string,
  said: string | null,
): Promise<void> {
  const account = await getAccount(ctx.db, id)
  if (account === undefined) throw missing()
  res.type('html').send(page(`Account ${id}`, await accountPage(ctx.db, account, said)))
}

async function accountsPage({ db }: Context, search: string): Promise<Html> {
  const accounts = await listAccounts(db, ROWS_MAX, search === '' ? undefined : search)
  return html`<form method="get">
      <label>Email or id <input name="search" value="${search}" /></label><button>Search</button>
    </form>
    ${table(
      ['Account', 'Email', 'Plan', 'State', 'Since'],
      accounts.map((account) => [
        html`<a href="/operator/accounts/${account.id}">${account.id}</a>`,
        account.email,
        account.plan,
        account.status,
        account.createdAt.toISOString().slice(0, 10),
      ]),
    )}
    ${accounts.length === ROWS_MAX ? html`<p>There are more; search for one.</p>` : null}`
}

async function plansPage({ db }: Context): Promise<Html> {
  const [plans, packs] = await Promise.all([listPlans(db), listPacks(db)])
  const price = (cents: number | null): string => (cents === null ? '-' : (cents / 100).toFixed(2))
  return html`<p>The commands "plan set" and "pack set" change them.</p>
    ${table(
      ['Plan', 'Credits a month', 'Price', 'Test keys', 'Offered'],
      plans.map((one) => [
        one.plan,
        one.monthly_credits,
        price(one.price_cents),
        one.test_keys ? 'yes' : 'no',
        one.is_offered ? 'yes' : 'no',
      ]),
    )}
    <h2>Packs</h2>
    ${table(
      ['Pack', 'Credits', 'Price', 'Offered'],
      packs.map((one) => [
        one.pack,
        one.credits,
        price(one.price_cents),
        one.is_offered ? 'yes' : 'no',
      ]),
    )}`
}

async function queuesPage(ctx: Context): Promise<Html> {
  const rows = await Promise.all(
    QUEUE_NAMES.map(async (name) => {
      const { waiting, active } = await depth(ctx.pipeline.queue, name)
      return [name, waiting, active] as const
    }),
  )
  return table(['Queue', 'Waiting', 'Worked on'], rows)
}

async function workersPage(ctx: Context): Promise<Html> {
  const [workers, checks, audit] = await Promise.all([
    readWorkers(ctx.db),
    checkReadiness(ctx),
    readLastAudit(ctx.db),
  ])
  const rows = workers.flatMap(({ name, kind, ageMs, health }) =>
    health.map((one) => [name, kind, `${Math.round(ageMs / 1_000)} s`, one.name, one.status]),
  )
  const ledger =
    audit === undefined
      ? 'The ledger has not been audited yet.'
      : `The last audit of the ledger found ${audit.faultCount} faults, ${Math.round(audit.ageSeconds / 60)} minutes ago.`
  return html`${table(
      ['What', 'State'],
      checks.map((check) => [check.name, check.ok ? 'ok' : 'failed']),
    )}
    <p>${ledger}</p>
    <h2>Workers</h2>
    ${table(['Worker', 'Kind', 'Heard', 'Leans on', 'State'], rows)}
    <p>"doctor" on the command line also tests the way out, disk and data.</p>`
}

function searchOf(req: Request): string {
  return (new URLSearchParams(req.url.split('?')[1] ?? '').get('search') ?? '').trim().slice(0, 320)
}

function formOf(req: Request): Form {
  const body: unknown = req.body
  return new Map(new URLSearchParams(typeof body === 'string' ? body : ''))
}

function missing(): Problem {
  return new Problem('not_found', 'There is no such page.')
}

function refuse(ctx: Context): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const problem = problemOf(error)
    if (problem.status >= 500) ctx.onError(error)
    if (res.headersSent) return void res.destroy()
    const body = html`<p class="said" role="status">${problem.message}</p>`
    res.status(problem.status).type('html').send(page('Refused', body))
  }
}
