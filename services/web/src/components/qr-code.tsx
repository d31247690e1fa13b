import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/**
 * Clear modules around a code, without which cameras do not find it. Source: ISO/IEC 18004, 9.1.
 */
const QUIET = 4

/**
 * A text as a QR code, rendered in this page without other services. Empty until it is rendered, or
 * if it cannot be; the text must be shown beside it.
 */
export function QrCode({
  text,
  label,
}: {
  readonly text: string
  readonly label: string
}): JSX.Element {
  const [modules, setModules] = useState<readonly (readonly boolean[])[]>([])
  useEffect(() => {
    let isWanted = true
    drawn(text).then(
      (made) => isWanted && setModules(made),
      () => undefined,
    )
    return () => {
      isWanted = false
    }
  }, [text])
  const size = modules.length
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect class="qr-ground" width={size} height={size} />
      <path class="qr-ink" d={pathOf(modules)} />
    </svg>
  )
}

/**
 * The modules of a code; the encoder is loaded for the first one, since few people ever see one.
 */
async function drawn(text: string): Promise<readonly (readonly boolean[])[]> {
  const { encodeQR } = await import('qr')
  return encodeQR(text, 'raw', { ecc: 'medium', border: QUIET })
}

/** Dark modules as one path, each run of a row as a bar. */
function pathOf(modules: readonly (readonly boolean[])[]): string {
  return modules
    .flatMap((row, y) =>
      row.map((isDark, x) => {
        if (!isDark || row[x - 1] === true) return ''
        const end = row.indexOf(false, x)
        return `M${x} ${y}h${(end === -1 ? row.length : end) - x}v1H${x}z`
      }),
    )
    .join('')
}
