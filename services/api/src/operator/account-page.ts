import { OWN_LIMITS, SUSPENSION_REASON_CHARS } from '@plumbline/contract/plans'
import type { Account } from '@plumbline/db/accounts'
import { listAudit } from '@plumbline/db/audit-log'
import type { Db } from '@plumbline/db/database'
import { listKeys } from '@plumbline/db/keys'
import { readLimits, readOwnLimits } from '@plumbline/db/limits'
import { listPacks, listPlans } from '@plumbline/db/offers'
import { listMembers, type Member } from '@plumbline/db/people/members'
import { readBalance, readPacks } from '@plumbline/metering/balance'
import { readSpending } from '@plumbline/metering/spending'
import { randomUUID } from 'node:crypto'
import { auditTable } from './audit-table.ts'
import { ACCOUNT_FIELDS as FIELDS, LIMIT_LABELS } from './fields.ts'
import { html, moment, table, type Html } from './html.ts'

/** Rows of the audit log that the page of an account shows. */
const TRAIL_ROWS = 20

/** The page of one account: its data, its audit log, and forms for acts. */
export async function accountPage(db: Db, account: Account, said: string | null): Promise<Html> {
  const { id } = account
  const [balance, packs, keys, limits, own, spending, trail, plans, offered, members] =
    await Promise.all([
      readBalance(db, id),
      readPacks(db, id),
      listKeys(db, id),
      readLimits(db, id),
      readOwnLimits(db, id),
      readSpending(db, id),
      listAudit(db, { accountId: id, limit: TRAIL_ROWS }),
      listPlans(db),
      listPacks(db),
      listMembers(db, id),
    ])
  const facts = [
    ['Email', account.email],
    ['State', account.statusReason ? `${account.status}: ${account.statusReason}` : account.status],
    [
      'Plan',
      account.nextPlan === null ? account.plan : `${account.plan}, then ${account.nextPlan}`,
    ],
    ['Allowance left', balance?.allowance],
    ['Packs left', balance?.packs],
    ['Held', balance?.held],
    ['Next cycle', balance === undefined ? undefined : moment(balance.resetsAt)],
    ['Spent today', spending?.today],
    ['Own daily limit', spending?.dailyLimit ?? 'none'],
    ['Low-credit mark', spending?.lowMark ?? 'none'],
    ['Time zone', account.timeZone],
    ['Since', moment(account.createdAt)],
  ] as const
  return html`${said === null ? null : html`<p class="said" role="status">${said}</p>`}
    ${table(['What', 'Is'], facts)}
    ${account.status === 'closed' ? html`<p>This account is closed.</p>` : actsOf(account, { plans, packs: offered, own, spending })}
    <h2>Limits</h2>
    ${table(
      ['Limit', 'Of this account', 'That holds'],
      OWN_LIMITS.map((name) => [
        LIMIT_LABELS[name],
        own[name] ?? '-',
        limits[name] ?? 'the setting of the service',
      ]),
    )}
    <h2>Packs and goodwill</h2>
    ${table(
      ['Kind', 'Name', 'Credits', 'Left', 'Since'],
      packs.map((one) => [one.kind, one.name, one.credits, one.left, moment(one.grantedAt)]),
    )}
    <h2>Members</h2>
    ${peopleTable(id, members)}
    <h2>Keys</h2>
    ${table(
      ['Key', 'Mode', 'State', 'Created', 'Last used'],
      keys.map((key) => [
        `${key.prefix}...${key.last4}`,
        key.mode,
        key.revokedAt === null ? 'active' : 'revoked',
        moment(key.createdAt),
        key.lastUsedAt === null ? '-' : moment(key.lastUsedAt),
      ]),
    )}
    <h2>What was done</h2>
    ${await auditTable(db, trail)}`
}

interface Settable {
  readonly plans: Awaited<ReturnType<typeof listPlans>>
  readonly packs: Awaited<ReturnType<typeof listPacks>>
  readonly own: Awaited<ReturnType<typeof readOwnLimits>>
  readonly spending: Awaited<ReturnType<typeof readSpending>>
}

function actsOf({ id, plan, status }: Account, { plans, packs, own, spending }: Settable): Html {
  const at = `/operator/accounts/${id}`
  // A form that is sent twice counts once.
  const ref = html`<input type="hidden" name="ref" value="${randomUUID()}" />`
  return html`<h2>Acts</h2>
    <form method="post" action="${at}/plan">
      <label
        >Plan
        <select name="plan">
          ${plans.map((one) =>
            one.plan === plan
              ? html`<option selected>${one.plan}</option>`
              : html`<option>${one.plan}</option>`,
          )}
        </select></label
      ><button>Change plan</button>
    </form>
    <form method="post" action="${at}/pack">
      ${ref}<label
        >Pack
        <select name="pack">
          ${packs.map(
            (one) => html`<option value="${one.pack}">${one.pack} (${one.credits})</option>`,
          )}
        </select></label
      ><button>Add pack</button>
    </form>
    <form method="post" action="${at}/grant">
      ${ref}<label>Credits <input name="credits" inputmode="numeric" required /></label
      ><button>Grant credits</button>
    </form>
    <form method="post" action="${at}/spending">
      <label
        >${FIELDS.dailyLimit.label}; empty: no limit
        <input
          name="daily_limit"
          inputmode="numeric"
          value="${spending?.dailyLimit ?? ''}" /></label
      ><label
        >${FIELDS.lowMark.label}: notify its owners below; empty: never
        <input name="low_mark" inputmode="numeric" value="${spending?.lowMark ?? ''}" /></label
      ><button>Set spending</button>
    </form>
    <form class="tall" method="post" action="${at}/limits">
      ${OWN_LIMITS.map(
        (name) =>
          html`<label
            >${LIMIT_LABELS[name]}; empty: of the plan
            <input name="${name}" inputmode="numeric" value="${own[name] ?? ''}"
          /></label>`,
      )}<button>Set limits</button>
    </form>
    ${keyForms(at)}
    ${
      status === 'suspended'
        ? html`<form method="post" action="${at}/resume"><button>Resume account</button></form>`
        : html`<form method="post" action="${at}/suspend">
            <label
              >Reason, as its users are told
              <input name="reason" maxlength="${SUSPENSION_REASON_CHARS}" /></label
            ><button>Suspend account</button>
          </form>`
    }
    <form method="post" action="${at}/close">
      <label>Type ${id} to close it for good <input name="confirm" required /></label
      ><button>Close account</button>
    </form>`
}

function keyForms(at: string): Html {
  const acts = [
    ['create-key', 'Create key, which revokes the one before'],
    ['revoke-key', 'Revoke key'],
  ]
  return html`${acts.map(
    ([name, words]) =>
      html`<form method="post" action="${at}/${name}">
        <label
          >Mode
          <select name="mode">
            <option>live</option>
            <option>test</option>
          </select></label
        ><button>${words}</button>
      </form>`,
  )}`
}

function peopleTable(id: string, members: readonly Member[]): Html {
  return table(
    ['Email', 'Name', 'Role', 'Second factor', 'Since', 'Sessions'],
    members.map((one) => [
      one.email,
      one.name,
      one.role,
      one.hasFactor ? 'yes' : 'no',
      moment(one.since),
      html`<form method="post" action="/operator/accounts/${id}/sign-out">
        <input type="hidden" name="user" value="${one.userId}" /><button>End them</button>
      </form>`,
    ]),
  )
}
