import { useEffect, useState } from 'preact/hooks'

/**
 * How many parts of a page are drawn by now: one at once, and one more in each task after it, so
 * that the browser can show what is there and hear the person in between. Parts that come later
 * stand below those that are there.
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
