import type { UsageView } from '@plumbline/contract/usage'
import { useQuery } from '@tanstack/preact-query'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { sentenceOf } from '../api/http.ts'
import { usageQuery } from '../api/queries.ts'
import { PRODUCT_NAMES } from '../components/batch-state.tsx'
import { Button } from '../components/button.tsx'
import { SelectField } from '../components/field.tsx'
import { Disclosure } from '../components/disclosure.tsx'
import { Skeleton, Card, Empty, Notice, Page } from '../components/page.tsx'
import { Facts, Table } from '../components/table.tsx'
import { UsageBars } from '../components/usage-bars.tsx'
import { dayAfter, daysBetween, todayIn } from '../days.ts'
import * as format from '../format.ts'
import { saveText } from '../save-file.ts'
import { useMay, useSession } from '../session.tsx'

const SPANS = [
  { value: '7', text: 'Last 7 days' },
  { value: '30', text: 'Last 30 days' },
  { value: '90', text: 'Last 90 days' },
  { value: '365', text: 'Last 365 days' },
]

/** Usage of the account, by day, product and source. */
export function Usage(): JSX.Element {
  const { account } = useSession()
  const mayUse = useMay('member')
  const [span, setSpan] = useState('30')
  const to = todayIn(account?.time_zone ?? 'UTC')
  const asked = { from: dayAfter(to, 1 - Number(span)), to, by: 'day,product,source' }
  const usage = useQuery(usageQuery(asked))
  const { data } = usage
  return (
    <Page
      title="Usage"
      lead="Lookups and rows of batches that were charged."
      actions={
        data !== undefined &&
        data.data.length > 0 && <Button onClick={() => saveUsage(data)}>Download CSV</Button>
      }
    >
      <div class="row bottom">
        <SelectField label="Days" value={span} choices={SPANS} onChange={setSpan} />
      </div>
      {usage.error !== null && <Notice tone="bad">{sentenceOf(usage.error)}</Notice>}
      {data === undefined && usage.error === null && (
        <Card>
          <Skeleton rows={8} />
        </Card>
      )}
      {data !== undefined && data.data.length === 0 && (
        <Card>
          <Empty title="Nothing used in these days" heading="h2">
            {mayUse ? (
              <>
                <a href="/app/try">Look a value up</a>, <a href="/app/batches/new">submit a file</a>
                , or call the API with a key.
              </>
            ) : (
              'What owners and members use is shown here.'
            )}
          </Empty>
        </Card>
      )}
      {data !== undefined && data.data.length > 0 && <Figures usage={data} />}
    </Page>
  )
}

function Figures({ usage }: { readonly usage: UsageView }): JSX.Element {
  const days = daysBetween(usage.from, usage.to)
  const perDay = sums(usage, ({ day }) => day ?? '')
  const used = days.flatMap((day) => {
    const sum = perDay.get(day)
    return sum === undefined ? [] : [{ name: format.calendarDay(day), ...sum }]
  })
  return (
    <>
      <Card title="Credits a day">
        <div>
          <div class="figure">{format.number(usage.total.credits)}</div>
          <div class="muted">credits used</div>
        </div>
        <Facts
          facts={[
            ['Operations', format.number(usage.total.operations)],
            ['Time zone', usage.time_zone],
          ]}
        />
        <UsageBars usage={usage} />
        <Disclosure summary="As a table">
          {() => <SumTable caption="Usage by day" title="Day" sums={used.toReversed()} />}
        </Disclosure>
      </Card>
      <div class="columns">
        <Card title="By product">
          <SumTable
            caption="Usage by product"
            title="Product"
            sums={named(sums(usage, ({ product }) => (product ? PRODUCT_NAMES[product] : 'Other')))}
          />
        </Card>
        <Card title="By source">
          <SumTable
            caption="Usage by source"
            title="Source"
            sums={named(sums(usage, ({ source }) => SOURCES[source ?? ''] ?? 'Other'))}
          />
        </Card>
      </div>
    </>
  )
}

/** Label of each source of operations. */
const SOURCES: Readonly<Record<string, string>> = {
  api: 'API key',
  app: 'This app',
  batch: 'Batches',
}

type Row = UsageView['data'][number]

/** Operations and credits added up. */
interface Sum {
  readonly operations: number
  readonly credits: number
}

function sums(usage: UsageView, keyOf: (row: Row) => string): ReadonlyMap<string, Sum> {
  const added = new Map<string, Sum>()
  for (const row of usage.data) {
    const key = keyOf(row)
    const { operations, credits } = added.get(key) ?? { operations: 0, credits: 0 }
    added.set(key, {
      operations: operations + row.operations,
      credits: credits + row.credits,
    })
  }
  return added
}

type NamedSum = Sum & { readonly name: string }

/** The sums with their names, the largest first. */
function named(added: ReadonlyMap<string, Sum>): readonly NamedSum[] {
  return [...added]
    .map(([name, sum]) => ({ name, ...sum }))
    .toSorted((one, other) => other.credits - one.credits)
}

function SumTable({
  caption,
  title,
  sums,
}: {
  readonly caption: string
  readonly title: string
  readonly sums: readonly NamedSum[]
}): JSX.Element {
  return (
    <Table
      caption={caption}
      rows={sums}
      keyOf={({ name }) => name}
      columns={[
        { title, cell: ({ name }) => name },
        {
          title: 'Operations',
          isNumber: true,
          cell: ({ operations }) => format.number(operations),
        },
        { title: 'Credits', isNumber: true, cell: ({ credits }) => format.number(credits) },
      ]}
    />
  )
}

/**
 * Downloads the usage as CSV. Every cell is a word of the service or a number, so that none needs
 * quoting or can be a formula.
 */
function saveUsage(usage: UsageView): void {
  const rows = usage.data.map(({ day, product, source, operations, credits }) =>
    [day, product, source, operations, credits].join(','),
  )
  saveText(
    `usage ${usage.from} to ${usage.to}.csv`,
    'text/csv',
    ['day,product,source,operations,credits', ...rows, ''].join('\r\n'),
  )
}
