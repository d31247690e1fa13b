import { check } from './check.ts'
import { takePictures } from './pictures.ts'

// npm run web -- check: what the web app weighs, what axe has against its pages, what Lighthouse
// gives those that are opened most, and how soon they answer a hand where there is much, against a
// service of this machine. npm run web -- pictures: every page as a person sees it.

const [what] = process.argv.slice(2)
switch (what) {
  case 'check':
    process.exitCode = (await check()) ? 0 : 1
    break
  case 'pictures':
    await takePictures()
    break
  default:
    console.error('Usage: npm run web -- check | pictures')
    process.exitCode = 2
}
