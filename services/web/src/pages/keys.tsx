import type { NewKeyResponse } from '@plumbline/contract/app/keys'
import { SHOWN_KEY_HEADER } from '@plumbline/contract/app/paths'
import type { KeyView } from '@plumbline/contract/keys'
import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { callApp } from '../api/app-calls.ts'
import { sentenceOf } from '../api/http.ts'
import { keysQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { Confirm } from '../components/confirm.tsx'
import { Skeleton, Card, Empty, Notice, Page } from '../components/page.tsx'
import { Facts, Table } from '../components/table.tsx'
import { Time } from '../components/text.tsx'
import { useStepUp } from '../step-up.tsx'
import { useMay } from '../session.tsx'
import { useSubmission } from '../submit.ts'
import { NewKey } from './keys/new-key.tsx'

type Mode = KeyView['mode']

/** The keys of the account: one of each mode, created, replaced and revoked here. */
export function Keys(): JSX.Element {
  const keys = useQuery(keysQuery)
  const queries = useQueryClient()
  const withStepUp = useStepUp()
  const [made, setMade] = useState<NewKeyResponse | null>(null)
  const [asking, setAsking] = useState<Question | null>(null)
  const { isBusy, fault, run } = useSubmission()
  const reload = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: keysQuery.queryKey })
  }
  const create = async (mode: Mode, shown: string): Promise<void> => {
    const headers = { [SHOWN_KEY_HEADER]: shown }
    setMade(await withStepUp(async () => await callApp('createKey', { mode }, { headers })))
  }
  const revoke = async (mode: Mode, shown: string): Promise<void> => {
    const headers = { [SHOWN_KEY_HEADER]: shown }
    await withStepUp(async () => await callApp('revokeKey', undefined, { at: mode, headers }))
    if (made?.record.mode === mode) setMade(null)
  }
  const act = (work: () => Promise<void>): void => {
    void run(async () => {
      await work().catch((error: unknown) => {
        // Perhaps the keys have changed meanwhile.
        void reload()
        throw error
      })
      await reload()
    })
  }
  const answer = ({ act: what, mode, shown }: Question): void => {
    act(async () => await (what === 'revoke' ? revoke(mode, shown) : create(mode, shown)))
  }
  return (
    <Page
      title="API keys"
      lead={
        <>
          For your own programs. Keep a key on a server, never in a page. What can be called with it
          is in the{' '}
          <a href="/docs" target="_blank">
            API reference
          </a>
          .
        </>
      }
    >
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {made !== null && <NewKey made={made} onDone={() => setMade(null)} />}
      {keys.error !== null && <Notice tone="bad">{sentenceOf(keys.error)}</Notice>}
      {keys.data === undefined && keys.error === null && (
        <Card>
          <Skeleton rows={4} />
        </Card>
      )}
      {keys.data !== undefined && (
        <>
          <KeysOfModes
            keys={keys.data.data}
            hasTestKeys={keys.data.test_keys}
            busy={isBusy}
            onCreate={(mode) => act(async () => await create(mode, 'none'))}
            onAsk={setAsking}
          />
          <FormerKeys keys={keys.data.data.filter(({ revoked_at: at }) => at !== null)} />
        </>
      )}
      {asking !== null && (
        <Ask question={asking} onClose={() => setAsking(null)} onConfirm={() => answer(asking)} />
      )}
    </Page>
  )
}

/** A question to confirm before a key is replaced or revoked. */
interface Question {
  readonly act: 'replace' | 'revoke'
  readonly mode: Mode
  /** Id of the key that is asked about. */
  readonly shown: string
}

const MODES: readonly { readonly mode: Mode; readonly title: string; readonly about: string }[] = [
  { mode: 'live', title: 'Live key', about: 'Real lookups; each takes credits.' },
  {
    mode: 'test',
    title: 'Test key',
    about: 'Answers from fixed test values; nothing is looked up, and no credits are charged.',
  },
]

function KeysOfModes({
  keys,
  hasTestKeys,
  busy,
  onCreate,
  onAsk,
}: {
  readonly keys: readonly KeyView[]
  readonly hasTestKeys: boolean
  readonly busy: boolean
  readonly onCreate: (mode: Mode) => void
  readonly onAsk: (question: Question) => void
}): JSX.Element {
  const mayChange = useMay('member')
  const active = keys.filter(({ revoked_at: at }) => at === null)
  return (
    <div class="columns">
      {MODES.map(({ mode, title, about }) => {
        const key = active.find((one) => one.mode === mode)
        // If there are both, only the first has the short name: no name is twice on the page.
        const isFirst = active.length < 2 || mode === 'live'
        const ending = isFirst ? 'key' : `${mode} key`
        return (
          <Card key={mode} title={title}>
            <p class="muted">{about}</p>
            {key === undefined ? (
              <NoKey
                mode={mode}
                isOffered={mayChange && (mode === 'live' || hasTestKeys)}
                hasMode={mode === 'live' || hasTestKeys}
                busy={busy}
                onCreate={onCreate}
              />
            ) : (
              <>
                <KeyFacts record={key} />
                {mayChange && (
                  <div class="row">
                    <Button
                      busy={busy}
                      onClick={() => onAsk({ act: 'replace', mode, shown: key.id })}
                    >
                      Replace {ending}
                    </Button>
                    <Button
                      kind="danger"
                      busy={busy}
                      onClick={() => onAsk({ act: 'revoke', mode, shown: key.id })}
                    >
                      {isFirst ? 'Revoke' : `Revoke ${mode} key`}
                    </Button>
                  </div>
                )}
              </>
            )}
          </Card>
        )
      })}
    </div>
  )
}

function NoKey({
  mode,
  isOffered,
  hasMode,
  busy,
  onCreate,
}: {
  readonly mode: Mode
  readonly isOffered: boolean
  readonly hasMode: boolean
  readonly busy: boolean
  readonly onCreate: (mode: Mode) => void
}): JSX.Element {
  if (!hasMode) {
    return (
      <Empty title="Not on this plan">
        Test keys come with other plans; <a href="/app/credits">see what there is</a>.
      </Empty>
    )
  }
  return (
    <Empty
      title="No key yet"
      action={
        isOffered && (
          <Button
            kind={mode === 'live' ? 'primary' : 'plain'}
            busy={busy}
            onClick={() => onCreate(mode)}
          >
            Create {mode} key
          </Button>
        )
      }
    >
      {isOffered ? 'It is shown once, when it is made.' : 'An owner or member can make one.'}
    </Empty>
  )
}

function KeyFacts({ record }: { readonly record: KeyView }): JSX.Element {
  const lastUsed = record.last_used_at
  return (
    <>
      <code class="wrap">
        {record.prefix}…{record.last4}
      </code>
      <Facts
        long
        facts={[
          ['Created', <Time key="created" at={record.created_at} />],
          ['Last used', lastUsed === null ? 'Never' : <Time key="used" at={lastUsed} />],
        ]}
      />
    </>
  )
}

const QUESTIONS = {
  replace: {
    verb: 'Replace',
    text: 'The old key stops at once: programs that use it are refused until they have the new one.',
  },
  revoke: {
    verb: 'Revoke',
    text: 'The key stops at once, and programs that use it are refused.',
  },
} as const

function Ask({
  question: { act, mode },
  onConfirm,
  onClose,
}: {
  readonly question: Question
  readonly onConfirm: () => void
  readonly onClose: () => void
}): JSX.Element {
  const { verb, text } = QUESTIONS[act]
  return (
    <Confirm
      title={`${verb} the ${mode} key?`}
      action={`${verb} it`}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>{text}</p>
    </Confirm>
  )
}

function FormerKeys({ keys }: { readonly keys: readonly KeyView[] }): JSX.Element | null {
  if (keys.length === 0) return null
  return (
    <Card title="Former keys">
      <Table
        caption="Former keys"
        rows={keys}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Key',
            isTight: true,
            cell: ({ prefix, last4 }) => (
              <code>
                {prefix}…{last4}
              </code>
            ),
          },
          { title: 'Created', isTight: true, cell: (key) => <Time at={key.created_at} /> },
          {
            title: 'Ended',
            isTight: true,
            cell: ({ revoked_at: at }) => at !== null && <Time at={at} />,
          },
        ]}
      />
    </Card>
  )
}
