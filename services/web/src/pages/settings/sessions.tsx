import { useQuery, useQueryClient } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { callApp } from '../../api/app-calls.ts'
import { sentenceOf } from '../../api/http.ts'
import { Button } from '../../components/button.tsx'
import { Skeleton, Card, Notice } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Foreign, Time } from '../../components/text.tsx'
import { browserName } from '../../browser-name.ts'
import * as format from '../../format.ts'
import { useSessionActions } from '../../session.tsx'
import { useSubmission } from '../../submit.ts'

/** Query key of the user's sessions. */
export const sessionsKey: readonly unknown[] = ['sessions']

/** The user's sessions, with an action to end them. */
export function Sessions(): JSX.Element {
  const queries = useQueryClient()
  const { refresh } = useSessionActions()
  const { isBusy, fault, run } = useSubmission()
  const { data, error } = useQuery({
    queryKey: sessionsKey,
    queryFn: async ({ signal }) => await callApp('listSessions', undefined, { signal }),
  })
  const end = async (id: string): Promise<void> => {
    await callApp('endSession', undefined, { at: id })
    await queries.invalidateQueries({ queryKey: sessionsKey })
  }
  const endAll = async (): Promise<void> => {
    await callApp('signOutEverywhere')
    await refresh()
  }
  return (
    <Card
      title="Where you are signed in"
      actions={
        <Button small kind="danger" busy={isBusy} onClick={() => void run(endAll)}>
          End all sessions
        </Button>
      }
    >
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
      {error !== null && <Notice tone="bad">{sentenceOf(error)}</Notice>}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <Table
          caption="Sessions"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Browser',
              cell: ({ browser }) => <Foreign text={browserName(browser)} clip />,
            },
            { title: 'Network', isTight: true, cell: ({ network }) => <bdi>{network}</bdi> },
            { title: 'Last used', isTight: true, cell: ({ used_at: at }) => <Time at={at} /> },
            {
              title: 'End it',
              isTight: true,
              cell: ({ id, current, browser, used_at: at }) =>
                current ? (
                  <span class="muted">This one</span>
                ) : (
                  <Button
                    small
                    busy={isBusy}
                    label={`End ${browserName(browser)}, last used ${format.time(at)}`}
                    onClick={() => void run(async () => await end(id))}
                  >
                    End
                  </Button>
                ),
            },
          ]}
        />
      )}
    </Card>
  )
}
