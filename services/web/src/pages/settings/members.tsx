import type { InvitationResponse, MemberList } from '@plumbline/contract/app/members'
import type { Role } from '@plumbline/contract/app/roles'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../../api/app-calls.ts'
import { sentenceOf } from '../../api/http.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign, Time } from '../../components/text.tsx'
import { useStepUp } from '../../step-up.tsx'
import { useMay, useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'
import { Invite } from './invite.tsx'
import { ROLE_CHOICES, roleOf } from './role-choices.ts'

const KEY = ['members']

type Member = MemberList['data'][number]

/** A question to confirm before a member is changed or removed. */
interface Question {
  readonly act: 'remove' | 'leave' | 'hand-over'
  readonly member: Member
}

/** Members and open invitations of the account. */
export function Members(): JSX.Element {
  const queries = useQueryClient()
  const isOwner = useMay('owner')
  const withStepUp = useStepUp()
  const { refresh } = useSessionActions()
  const [asking, setAsking] = useState<Question | null>(null)
  const [made, setMade] = useState<InvitationResponse | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const { data, error } = useQuery({
    queryKey: KEY,
    queryFn: async ({ signal }) => await callApp('listMembers', undefined, { signal }),
  })
  const act = (work: () => Promise<unknown>): void => {
    void run(async () => {
      await withStepUp(work)
      await queries.invalidateQueries({ queryKey: KEY })
    })
  }
  const answer = ({ act: what, member }: Question): void => {
    act(async () => {
      if (what === 'hand-over') await callApp('handOverAccount', { member_id: member.id })
      else await callApp('removeMember', undefined, { at: member.id })
      if (what !== 'remove') await refresh()
    })
  }
  return (
    <Card title="Members">
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <MemberTable
          members={data.data}
          busy={isBusy}
          onRole={(member, role) =>
            act(async () => await callApp('changeMember', { role }, { at: member.id }))
          }
          onAsk={setAsking}
        />
      )}
      {isOwner && data !== undefined && (
        <>
          <Invite made={made} onMade={setMade} onDone={() => act(async () => undefined)} />
          <Invitations
            list={data}
            busy={isBusy}
            onWithdraw={(id) =>
              act(async () => await callApp('withdrawInvitation', undefined, { at: id }))
            }
          />
        </>
      )}
      {asking !== null && (
        <Ask question={asking} onClose={() => setAsking(null)} onConfirm={() => answer(asking)} />
      )}
    </Card>
  )
}

function MemberTable({
  members,
  busy,
  onRole,
  onAsk,
}: {
  readonly members: readonly Member[]
  readonly busy: boolean
  readonly onRole: (member: Member, role: Role) => void
  readonly onAsk: (question: Question) => void
}): JSX.Element {
  const isOwner = useMay('owner')
  return (
    <Table
      caption="Members"
      rows={members}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Member',
          narrow: 'head',
          cell: ({ name, email }) => (
            <>
              <div>
                <Foreign text={name} clip />
              </div>
              <div class="muted small">
                <Foreign text={email} />
              </div>
            </>
          ),
        },
        {
          title: 'Role',
          narrow: 'mark',
          cell: (member) =>
            isOwner && !member.self ? (
              <select
                class="input compact"
                aria-label={`Role of ${member.email}`}
                value={member.role}
                // Not disabled meanwhile, which would take the focus from keyboard users.
                aria-busy={busy || undefined}
                onChange={(event) => onRole(member, roleOf(event.currentTarget.value))}
              >
                {ROLE_CHOICES.map(({ value, text }) => (
                  <option key={value} value={value}>
                    {text}
                  </option>
                ))}
              </select>
            ) : (
              member.role
            ),
        },
        {
          title: 'Second factor',
          narrow: 'foot',
          isTight: true,
          cell: ({ second_factor: has }) => (has ? 'On' : 'Off'),
        },
        {
          title: 'Since',
          isTight: true,
          narrow: 'foot',
          cell: ({ since }) => <Time at={since} dayOnly />,
        },
        {
          title: 'Change',
          isTight: true,
          narrow: 'line',
          cell: (member) => <Changes member={member} isLast={members.length === 1} onAsk={onAsk} />,
        },
      ]}
    />
  )
}

/** Actions on a member of the account, or by the member themselves. */
function Changes({
  member,
  isLast,
  onAsk,
}: {
  readonly member: Member
  readonly isLast: boolean
  readonly onAsk: (question: Question) => void
}): JSX.Element {
  const isOwner = useMay('owner')
  return (
    <span class="row">
      {isOwner && !member.self && (
        <>
          <Button
            small
            label={`Remove ${member.email}`}
            onClick={() => onAsk({ act: 'remove', member })}
          >
            Remove
          </Button>
          <Button
            small
            label={`Hand over to ${member.email}`}
            onClick={() => onAsk({ act: 'hand-over', member })}
          >
            Hand over
          </Button>
        </>
      )}
      {member.self && !isLast && (
        <Button small onClick={() => onAsk({ act: 'leave', member })}>
          Leave
        </Button>
      )}
    </span>
  )
}

const QUESTIONS = {
  remove: {
    title: 'Remove this member?',
    action: 'Remove them',
    text: 'They lose access at once. Keys that they made go on, since a key is the account’s.',
  },
  leave: {
    title: 'Leave this account?',
    action: 'Leave it',
    text: 'You lose access at once; an owner would have to invite you again.',
  },
  'hand-over': {
    title: 'Hand the account over?',
    action: 'Hand it over',
    text: 'This member becomes owner, and you become a member.',
  },
} as const

function Ask({
  question: { act, member },
  onConfirm,
  onClose,
}: {
  readonly question: Question
  readonly onConfirm: () => void
  readonly onClose: () => void
}): JSX.Element {
  const { title, action, text } = QUESTIONS[act]
  return (
    <Confirm title={title} action={action} onConfirm={onConfirm} onClose={onClose}>
      <p>
        <Foreign text={member.email} />
      </p>
      <p>{text}</p>
    </Confirm>
  )
}

function Invitations({
  list,
  busy,
  onWithdraw,
}: {
  readonly list: MemberList
  readonly busy: boolean
  readonly onWithdraw: (id: string) => void
}): JSX.Element | null {
  if (list.invitations.length === 0) return null
  return (
    <Table
      caption="Invitations that are open"
      rows={list.invitations}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Invited', narrow: 'head', cell: ({ email }) => <Foreign text={email} /> },
        { title: 'Role', isTight: true, narrow: 'mark', cell: ({ role }) => role },
        {
          title: 'Until',
          isTight: true,
          narrow: 'foot',
          cell: ({ expires_at: at }) => <Time at={at} />,
        },
        {
          title: 'Change',
          isTight: true,
          narrow: 'line',
          cell: ({ id, email }) => (
            <Button
              small
              busy={busy}
              label={`Withdraw the invitation of ${email}`}
              onClick={() => onWithdraw(id)}
            >
              Withdraw
            </Button>
          ),
        },
      ]}
    />
  )
}
