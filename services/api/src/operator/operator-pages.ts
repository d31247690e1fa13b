import { Problem } from '@plumbline/contract/problem'
import { getAccount, listAccounts } from '@plumbline/db/accounts'
import { listAudit } from '@plumbline/db/audit-log'
import { newId } from '@plumbline/db/ids'
import { listPlans } from '@plumbline/db/offers'
import { openAccount } from '@plumbline/metering/open-account'
import { signOutPeople } from '@plumbline/people/sign-out'
import express, { type ErrorRequestHandler, type Request, type Response } from 'express'
import type { Context } from '../context.ts'
import { problemOf } from '../response.ts'
import type { Handler } from '../routes/handler.ts'
import { accountPage } from './account-page.ts'
import { auditTable } from './audit-table.ts'
import { OPERATOR_ACTS, signedOut } from './acts.ts'
import { BOARD_PATH, bullBoard } from './bull-board.ts'
import { ACCOUNT_FIELDS } from './fields.ts'
import { formOf, textOf, type Form } from './form.ts'
import { requireActor, requireOperator } from './identity.ts'
import { html, page, STYLE, table, type Html, type Place } from './html.ts'
import {
  changeOffer,
  makeOffer,
  OFFER_KINDS,
  offerPage,
  offersPage,
  type OfferKind,
} from './offers.ts'
import { queuesPage, workersPage } from './service-pages.ts'

/** Accounts found by a search, and entries of the audit log, that are shown at most. */
const ROWS_MAX = 200
const FORM_BYTES = 8_192

/**
 * The operator's pages below `/operator` on the admin port, for a signed-in user whom `user
 * operator` named: access to the port alone is not enough. A form must come from a page of this
 * port, and each act is written to the audit log.
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
  const shown = (path: Place, title: string, body: (req: Request) => Promise<Html>): void => {
    const show: Handler = async (req, res) => {
      await requireOperator(ctx, req)
      res.type('html').send(page(title, await body(req), path))
    }
    app.get(path, (req, res) => show(req, res))
  }
  shown('/operator', 'Accounts', (req) => accountsPage(ctx, searchOf(req)))
  shown('/operator/plans', 'Plans', () => offersPage(ctx.db, null))
  shown('/operator/queues', 'Queues', () => queuesPage(ctx))
  shown('/operator/workers', 'Workers', () => workersPage(ctx))
  shown('/operator/audit', 'Audit trail', async () =>
    auditTable(ctx.db, await listAudit(ctx.db, { accountId: undefined, limit: ROWS_MAX })),
  )
  const form = express.text({ type: 'application/x-www-form-urlencoded', limit: FORM_BYTES })
  const sends = (path: string, done: Handler): void => {
    app.post(path, form, (req, res) => done(req, res))
  }
  sends('/operator/sign-out', everybodySignedOut(ctx))
  const showAccount = accountShown(ctx)
  app.get('/operator/accounts/:id', (req, res) => showAccount(req, res))
  sends('/operator/accounts', accountMade(ctx))
  sends('/operator/accounts/:id/:act', accountChanged(ctx))
  for (const kind of OFFER_KINDS) {
    const showOffer = offerShown(ctx, kind)
    app.get(`/operator/${kind}/:name`, (req, res) => showOffer(req, res))
    sends(`/operator/${kind}`, offerMade(ctx, kind))
    sends(`/operator/${kind}/:name`, offerChanged(ctx, kind))
  }
  app.use(BOARD_PATH, bullBoard(ctx))
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

/** Performs an act on one account, and shows the account with the result. */
function accountChanged(ctx: Context): Handler {
  return async (req, res) => {
    const actor = await requireActor(ctx, req)
    const accountId = partOf(req, 'id')
    const name = partOf(req, 'act')
    const act = Object.hasOwn(OPERATOR_ACTS, name) ? OPERATOR_ACTS[name] : undefined
    const account = await getAccount(ctx.db, accountId)
    if (act === undefined || account === undefined) throw missing()
    const acting = { actor, accountId, service: ctx.settings.KEY_PREFIX }
    const said = await outcomeOf(act(ctx.db, acting, formOf(req.body)))
    ctx.access.sessions.forget()
    await sendAccount(ctx, res, accountId, said)
  }
}

/** Creates an account with its keys, and shows both. */
function accountMade(ctx: Context): Handler {
  return async (req, res) => {
    const actor = await requireActor(ctx, req)
    const form = formOf(req.body)
    const email = textOf(form, { name: 'email', label: 'Email of its owner' }).trim()
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
      throw new Problem('bad_request', 'Expected an address such as owner@example.com.')
    }
    const wanted = { id: accountIdOf(form), email, plan: textOf(form, ACCOUNT_FIELDS.plan) }
    const service = ctx.settings.KEY_PREFIX
    const { id, liveKey, testKey } = await openAccount(ctx.db, { ...wanted, actor, service })
    const keys = testKey === null ? liveKey : `${liveKey} and ${testKey}`
    await sendAccount(ctx, res, id, `The account is made; only now its keys are shown: ${keys}`)
  }
}

/** Ends the sessions of all users, including the operator. */
function everybodySignedOut(ctx: Context): Handler {
  return async (req, res) => {
    const actor = await requireActor(ctx, req)
    if (formOf(req.body).get('confirm') !== 'everybody') {
      throw new Problem('bad_request', 'Type the word everybody to sign everybody out.')
    }
    const said = signedOut(await signOutPeople(ctx.db, { actor, userId: null }))
    ctx.access.sessions.forget()
    res.type('html').send(page('Signed out', html`<p class="said" role="status">${said}</p>`))
  }
}

/** The id generated for the form, so that a form sent twice creates one account. */
function accountIdOf(form: Form): string {
  const id = form.get('id') ?? ''
  if (/^acc_[0-9A-Za-z]{16}$/.test(id)) return id
  throw new Problem('bad_request', 'The form lacks a field; load the page again.')
}

/** Shows one plan or pack. */
function offerShown(ctx: Context, kind: OfferKind): Handler {
  return async (req, res) => {
    await requireOperator(ctx, req)
    await sendOffer(ctx, res, { kind, name: partOf(req, 'name') }, null)
  }
}

/** Changes a plan or pack, and shows it with the result. */
function offerChanged(ctx: Context, kind: OfferKind): Handler {
  return async (req, res) => {
    const actor = await requireActor(ctx, req)
    const which = { kind, name: partOf(req, 'name') }
    const said = await outcomeOf(changeOffer(ctx.db, { actor, ...which }, formOf(req.body)))
    await sendOffer(ctx, res, which, said)
  }
}

/** Creates a plan or pack, and shows all with the result. */
function offerMade(ctx: Context, kind: OfferKind): Handler {
  return async (req, res) => {
    const actor = await requireActor(ctx, req)
    const said = await outcomeOf(makeOffer(ctx.db, { actor, kind }, formOf(req.body)))
    res.type('html').send(page('Plans', await offersPage(ctx.db, said), '/operator/plans'))
  }
}

async function sendOffer(
  { db }: Context,
  res: Response,
  { kind, name }: { readonly kind: OfferKind; readonly name: string },
  said: string | null,
): Promise<void> {
  const shown = await offerPage(db, kind, name, said)
  if (shown === undefined) throw missing()
  res
    .type('html')
    .send(page(`${kind === 'plans' ? 'Plan' : 'Pack'} ${name}`, shown, '/operator/plans'))
}

/** The message about an act, also if it was refused; the page shows it with the unchanged data. */
async function outcomeOf(done: Promise<string>): Promise<string> {
  try {
    return await done
  } catch (error) {
    if (error instanceof Problem && error.code !== 'not_found') return error.message
    throw error
  }
}

/** A path parameter. */
function partOf(req: Request, name: 'id' | 'act' | 'name'): string {
  const part = req.params[name]
  return typeof part === 'string' ? part : ''
}

const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
}

async function sendAccount(
  ctx: Context,
  res: Response,
  id: string,
  said: string | null,
): Promise<void> {
  const account = await getAccount(ctx.db, id)
  if (account === undefined) throw missing()
  res
    .type('html')
    .send(page(`Account ${id}`, await accountPage(ctx.db, account, said), '/operator'))
}

async function accountsPage({ db }: Context, search: string): Promise<Html> {
  const [accounts, plans] = await Promise.all([
    listAccounts(db, ROWS_MAX, search === '' ? undefined : search),
    listPlans(db),
  ])
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
    ${accounts.length === ROWS_MAX ? html`<p>There are more; search for one.</p>` : null}
    <h2>New account</h2>
    <form method="post" action="/operator/accounts">
      <input type="hidden" name="id" value="${newId('acc')}" />
      <label>Email of its owner <input name="email" type="email" maxlength="320" required /></label>
      <label
        >Plan
        <select name="plan">
          ${plans.map(({ plan }) => html`<option>${plan}</option>`)}
        </select></label
      ><button>Make account</button>
    </form>
    <h2>All users</h2>
    <form method="post" action="/operator/sign-out">
      <label>Type everybody to end all sessions <input name="confirm" required /></label
      ><button>Sign everybody out</button>
    </form>`
}

function searchOf(req: Request): string {
  return (new URLSearchParams(req.url.split('?')[1] ?? '').get('search') ?? '').trim().slice(0, 320)
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
