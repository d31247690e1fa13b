import { useEffect, useState } from 'preact/hooks'

/**
 * How many parts of a page are rendered: one at first, and one more in each task after it, so that
 * the browser can paint and handle input in between. Later parts are below earlier ones.
 */
export function useInTurn(partCount: number): number {
  const [drawn, setDrawn] = useState(1)
  useEffect(() => {
    if (drawn >= partCount) return undefined
    const timer = setTimeout(() => setDrawn(drawn + 1))
    return () => clearTimeout(timer)
  }, [drawn, partCount])
  return Math.min(drawn, partCount)
}
