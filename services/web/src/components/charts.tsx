import type { JSX } from 'preact'
import * as format from '../format.ts'
import { useMedia } from '../media.ts'

/** One part of a whole: its name, count and colour. */
export interface Share {
  readonly name: string
  readonly count: number
  readonly tone: 'good' | 'warn' | 'bad' | 'none'
}

const WIDTH = 720
const HEIGHT = 16
/** Minimum width of a part, so that the smallest is visible. */
const LEAST = 3

/** Parts of a whole as one bar, with their numbers as text below. */
export function ShareBar({
  title,
  shares,
}: {
  readonly title: string
  readonly shares: readonly Share[]
}): JSX.Element {
  const there = shares.filter(({ count }) => count > 0)
  const total = there.reduce((sum, { count }) => sum + count, 0)
  const room = WIDTH - 2 * Math.max(0, there.length - 1) - LEAST * there.length
  let x = 0
  return (
    <figure class="stack tight">
      <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={title}>
        {there.map(({ name, count, tone }) => {
          const width = LEAST + (room * count) / total
          const left = x
          x += width + 2
          return (
            <rect
              key={name}
              class={`fill-${tone}`}
              x={left}
              y="0"
              width={width}
              height={HEIGHT}
              rx="3"
            />
          )
        })}
        {total === 0 && <rect class="fill-none" width={WIDTH} height={HEIGHT} rx="3" />}
      </svg>
      <figcaption>
        <ul class="legend-list">
          {shares.map(({ name, count, tone }) => (
            <li key={name}>
              <svg width="10" height="10" aria-hidden="true">
                <rect class={`fill-${tone}`} width="10" height="10" rx="2" />
              </svg>
              {name} <span class="number">{format.number(count)}</span>
              {total > 0 && <span class="muted">{format.percent(count / total)}</span>}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  )
}

/** One bar of a chart: its name, and its value in each series. */
export interface Bar {
  readonly name: string
  readonly values: readonly number[]
}

/** Geometry of a chart; the narrow one keeps its text readable. */
const CHARTS = {
  wide: { width: 720, height: 180, left: 48, bottom: 22, top: 8, names: 6 },
  narrow: { width: 320, height: 170, left: 40, bottom: 22, top: 8, names: 4 },
} as const
/** Grid lines besides the baseline. */
const LINES = 3

/** Bars over time. The caller adds a table of the same numbers. */
export function BarChart({
  title,
  bars,
  series = [],
}: {
  readonly title: string
  readonly bars: readonly Bar[]
  /** Names of the series, if there are several. */
  readonly series?: readonly string[]
}): JSX.Element {
  const chart = CHARTS[useMedia('(width < 40em)') ? 'narrow' : 'wide']
  const top = niceTop(Math.max(1, ...bars.map(({ values }) => sumOf(values))))
  const high = chart.height - chart.bottom - chart.top
  const step = (chart.width - chart.left) / Math.max(1, bars.length)
  const every = Math.max(1, Math.ceil(bars.length / chart.names))
  const yOf = (value: number): number => chart.top + high * (1 - value / top)
  const drawn = (
    <svg class="bars" viewBox={`0 0 ${chart.width} ${chart.height}`} role="img" aria-label={title}>
      {Array.from({ length: LINES + 1 }, (_, index) => (top * index) / LINES).map((value) => (
        <g key={value}>
          <line
            class="grid-line"
            x1={chart.left}
            x2={chart.width}
            y1={yOf(value)}
            y2={yOf(value)}
          />
          <text class="axis" x={chart.left - 8} y={yOf(value) + 4} text-anchor="end">
            {format.short(value)}
          </text>
        </g>
      ))}
      {bars.map(({ name, values }, index) => (
        <g key={name}>
          {values.map((value, at) => (
            <rect
              key={at}
              class={`series-${at + 1}`}
              x={chart.left + index * step + step * 0.14}
              width={step * 0.72}
              y={yOf(sumOf(values.slice(0, at + 1)))}
              height={value === 0 ? 0 : Math.max(1, (high * value) / top)}
            />
          ))}
          {index % every === 0 && (
            <text
              class="axis"
              x={chart.left + (index + 0.5) * step}
              y={chart.height - 5}
              text-anchor="middle"
            >
              {name}
            </text>
          )}
        </g>
      ))}
    </svg>
  )
  if (series.length < 2) return drawn
  return (
    <figure class="stack tight">
      {drawn}
      <figcaption>
        <ul class="legend-list">
          {series.map((name, at) => (
            <li key={name}>
              <svg width="10" height="10" aria-hidden="true">
                <rect class={`series-${at + 1}`} width="10" height="10" rx="2" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  )
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** A round number at or above a value that three grid lines divide evenly. */
export function niceTop(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value / LINES))
  const step = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each * LINES >= value)
  return Math.ceil(step ?? value) * LINES
}
