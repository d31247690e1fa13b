import { CREDITS_MAX, OFFER_NAME, OFFER_POSITION_MAX, OWN_LIMITS } from '@plumbline/contract/plans'
import { Problem } from '@plumbline/contract/problem'
import type { Db } from '@plumbline/db/database'
import { changePackOffer, changePlanOffer, listPacks, listPlans } from '@plumbline/db/offers'
import { createHash } from 'node:crypto'
import { LIMIT_LABELS, type Field } from './fields.ts'
import { choiceOf, ownLimitOf, priceOf, requiredNumberOf, textOf, type Form } from './form.ts'
import { html, table, type Html } from './html.ts'

/** Plans or add-on packs. */
export const OFFER_KINDS = ['plans', 'packs'] as const
/** Kind of an offer, as in paths. */
export type OfferKind = (typeof OFFER_KINDS)[number]

type Cell = string | number | boolean | null

/** A plan or pack as its form shows it: the columns that can be changed, in order. */
interface Offer {
  readonly name: string
  readonly columns: ReadonlyMap<string, Cell>
}

/** A column of an offer, and its field in the form. */
interface Column extends Field {
  /** Text after the label: how to fill it in. */
  readonly hint?: string
  readonly kind: 'number' | 'price' | 'yes_no'
  /** Initial value for a new plan or pack. */
  readonly initial: Cell
  readonly read: (form: Form) => Cell
}

/** The name of a new one, and the hidden field by which concurrent changes are detected. */
const NAME: Field = { name: 'name', label: 'Name' }
const SEEN: Field = { name: 'seen', label: 'The form' }
const YES_NO = ['yes', 'no'] as const

const count = (name: string, label: string, min: number, max: number, initial: Cell): Column => ({
  name,
  label,
  kind: 'number',
  initial,
  read: (form) => requiredNumberOf(form, { name, label }, { min, max }),
})
const yesNo = (name: string, label: string): Column => ({
  name,
  label,
  kind: 'yes_no',
  initial: true,
  read: (form) => choiceOf(form, { name, label }, YES_NO) === 'yes',
})
const price = (label: string): Column => ({
  name: 'price_cents',
  label,
  hint: 'empty: on request',
  kind: 'price',
  initial: null,
  read: (form) => priceOf(form, { name: 'price_cents', label }),
})
const OFFERED = [
  yesNo('is_offered', 'Shown to customers'),
  count('position', 'Place in lists', 0, OFFER_POSITION_MAX, 100),
]

const COLUMNS: Readonly<Record<OfferKind, readonly Column[]>> = {
  plans: [
    count('monthly_credits', 'Credits a month', 0, CREDITS_MAX, null),
    price('US dollars a month'),
    yesNo('test_keys', 'Has test keys'),
    ...OFFERED,
    ...OWN_LIMITS.map((name): Column => ({
      name,
      label: LIMIT_LABELS[name],
      hint: 'empty: the setting of the service',
      kind: 'number',
      initial: null,
      read: (form) => ownLimitOf(form, name),
    })),
  ],
  packs: [count('credits', 'Credits', 1, CREDITS_MAX, null), price('US dollars'), ...OFFERED],
}

const WORDS: Readonly<Record<OfferKind, { readonly one: string; readonly title: string }>> = {
  plans: { one: 'plan', title: 'Plan' },
  packs: { one: 'pack', title: 'Pack' },
}

/**
 * The page of all plans and packs, with a message about a submitted form, and forms to add others.
 */
export async function offersPage(db: Db, said: string | null): Promise<Html> {
  const [plans, packs] = await Promise.all([readOffers(db, 'plans'), readOffers(db, 'packs')])
  return html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
    ${offersTable('plans', plans)}
    <h2>Packs</h2>
    ${offersTable('packs', packs)}
    <p>What is offered no more stays for the accounts that have it.</p>
    ${newOfferForm('plans')} ${newOfferForm('packs')}`
}

/** The page of one plan or pack; undefined if there is none. */
export async function offerPage(
  db: Db,
  kind: OfferKind,
  name: string,
  said: string | null,
): Promise<Html | undefined> {
  const offer = await findOffer(db, kind, name)
  if (offer === undefined) return undefined
  const effect =
    kind === 'plans'
      ? 'Accounts on it get other credits with their next cycle, and other limits at once.'
      : 'What was bought before stays as it was.'
  return html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
    <p>${effect}</p>
    <form class="tall" method="post" action="/operator/${kind}/${name}">
      <input type="hidden" name="seen" value="${fingerprintOf(offer)}" />
      ${COLUMNS[kind].map((column) => fieldOf(column, offer.columns.get(column.name) ?? null))}
      <button>Change ${WORDS[kind].one}</button>
    </form>
    <p><a href="/operator/plans">All plans and packs</a></p>`
}

/**
 * Changes the columns of a plan or pack that differ from the form, so that the log has no others.
 *
 * @throws Problem `conflict` if it was changed since the form was shown, `not_found` if there is
 * none
 */
export async function changeOffer(
  db: Db,
  {
    actor,
    kind,
    name,
  }: { readonly actor: string; readonly kind: OfferKind; readonly name: string },
  form: Form,
): Promise<string> {
  const offer = await findOffer(db, kind, name)
  if (offer === undefined) throw new Problem('not_found', 'There is no such page.')
  if (textOf(form, SEEN) !== fingerprintOf(offer)) {
    throw new Problem('conflict', 'It was changed meanwhile; the page shows its present values.')
  }
  const changes = Object.fromEntries(
    COLUMNS[kind]
      .map((column) => [column.name, column.read(form)] as const)
      .filter(([column, value]) => value !== offer.columns.get(column)),
  )
  if (Object.keys(changes).length === 0) return 'Nothing was changed.'
  await write(db, { actor, kind, name }, changes)
  return `The ${WORDS[kind].one} ${name} is changed.`
}

/**
 * Creates a plan or pack.
 * @throws Problem `conflict` if the name is taken
 */
export async function makeOffer(
  db: Db,
  { actor, kind }: { readonly actor: string; readonly kind: OfferKind },
  form: Form,
): Promise<string> {
  const { one } = WORDS[kind]
  const name = textOf(form, NAME).trim()
  if (!OFFER_NAME.test(name)) {
    throw new Problem(
      'bad_request',
      `The name of a ${one} has 1 to 40 lower-case letters, digits and dashes.`,
    )
  }
  if ((await findOffer(db, kind, name)) !== undefined) {
    throw new Problem('conflict', `There is a ${one} ${name} already; change it on its own page.`)
  }
  const values = COLUMNS[kind].map((column) => [column.name, column.read(form)] as const)
  await write(db, { actor, kind, name }, Object.fromEntries(values))
  return `The ${one} ${name} is made.`
}

async function write(
  db: Db,
  {
    actor,
    kind,
    name,
  }: { readonly actor: string; readonly kind: OfferKind; readonly name: string },
  changes: Readonly<Record<string, Cell>>,
): Promise<void> {
  if (kind === 'plans') await changePlanOffer(db, { actor, plan: name, changes })
  else await changePackOffer(db, { actor, pack: name, changes })
}

async function readOffers(db: Db, kind: OfferKind): Promise<readonly Offer[]> {
  const pick = (row: object): ReadonlyMap<string, Cell> => {
    const cells = new Map<string, Cell>(Object.entries(row))
    return new Map(COLUMNS[kind].map(({ name }) => [name, cells.get(name) ?? null]))
  }
  return kind === 'plans'
    ? (await listPlans(db)).map((row) => ({ name: row.plan, columns: pick(row) }))
    : (await listPacks(db)).map((row) => ({ name: row.pack, columns: pick(row) }))
}

async function findOffer(db: Db, kind: OfferKind, name: string): Promise<Offer | undefined> {
  return (await readOffers(db, kind)).find((offer) => offer.name === name)
}

/** Digest by which a form detects that an offer was changed meanwhile. */
function fingerprintOf({ columns }: Offer): string {
  return createHash('sha256')
    .update(JSON.stringify([...columns]))
    .digest('hex')
}

function offersTable(kind: OfferKind, offers: readonly Offer[]): Html {
  const columns = COLUMNS[kind]
  return table(
    [WORDS[kind].title, ...columns.map(({ label }) => label)],
    offers.map(({ name, columns: cells }) => [
      html`<a href="/operator/${kind}/${name}">${name}</a>`,
      ...columns.map((column) => shown(column, cells.get(column.name) ?? null) || '-'),
    ]),
  )
}

function newOfferForm(kind: OfferKind): Html {
  return html`<h2>New ${WORDS[kind].one}</h2>
    <form class="tall" method="post" action="/operator/${kind}">
      <label>Name <input name="name" required maxlength="40" /></label>
      ${COLUMNS[kind].map((column) => fieldOf(column, column.initial))}
      <button>Make ${WORDS[kind].one}</button>
    </form>`
}

function fieldOf(column: Column, value: Cell): Html {
  const { name, label, hint, kind } = column
  const said = hint === undefined ? label : `${label}; ${hint}`
  if (kind === 'yes_no') {
    return html`<label
      >${said}
      <select name="${name}">
        ${YES_NO.map((one) =>
          one === shown(column, value)
            ? html`<option selected>${one}</option>`
            : html`<option>${one}</option>`,
        )}
      </select></label
    >`
  }
  const mode = kind === 'price' ? 'decimal' : 'numeric'
  return html`<label
    >${said} <input name="${name}" inputmode="${mode}" value="${shown(column, value)}"
  /></label>`
}

/** A value as shown in its field. */
function shown({ kind }: Column, value: Cell): string {
  if (value === null) return ''
  if (kind === 'yes_no') return value === true ? 'yes' : 'no'
  return kind === 'price' ? (Number(value) / 100).toFixed(2) : String(value)
}
