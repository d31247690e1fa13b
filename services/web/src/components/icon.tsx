import type { JSX } from 'preact'

/** Strokes of each icon, on a field of 20 by 20 units. */
const PATHS = {
  overview: 'M3 3h6v8H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 13h6v4H3z',
  batches: 'M3 5h14M3 10h14M3 15h9',
  try: 'M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l4 4',
  keys: 'M6.5 9a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM9 10l7-7M13.5 5.5 16 8',
  usage: 'M3 17V3M3 17h14M7 14v-4M11 14V6M15 14v-6',
  credits:
    'M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 6.5v7M12.5 8H9a1 1 0 0 0 0 2h2a1 1 0 0 1 0 2H7.5',
  settings: 'M3 6h8M15 6h2M13 4v4M3 14h2M9 14h8M7 12v4',
} as const

/** Name of an icon. */
export type IconName = keyof typeof PATHS

/** An icon beside a text that says the same. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg
      width="18"
      height="18"
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
