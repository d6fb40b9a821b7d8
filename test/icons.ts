/** `npx node test/icons.ts`: draws the PNG icons and the picture of link previews again, from mark.svg. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startBrowser } from './support/browser.ts'

const assets = fileURLToPath(new URL('../src/platform/http/assets/', import.meta.url))
const sky = readFileSync(new URL('../web/src/sign-in/constellation.svg', import.meta.url), 'utf8')
const mark = readFileSync(`${assets}mark.svg`, 'utf8')
const green = '#1d6b5a'

interface Picture {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly body: string
}

/** Phones cut maskable icons and Apple's to their own shape, so those fill the square and keep away from its edge. */
const icon = (name: string, size: number, inset: number): Picture => ({
  name,
  width: size,
  height: size,
  body: `<div style="display:grid;place-items:center;height:100%;${inset > 0 ? `background:${green}` : ''}">
    <div style="width:${100 - 2 * inset}%;line-height:0">${mark}</div></div>`,
})

const pictures: Picture[] = [
  icon('icon-192', 192, 0),
  icon('icon-512', 512, 0),
  icon('icon-maskable-512', 512, 10),
  icon('apple-touch-icon', 180, 6),
  {
    name: 'social',
    width: 1200,
    height: 630,
    body: `<div style="display:flex;align-items:center;gap:70px;height:100%;padding:0 90px;color:#f4efe2;
      background:#1a4237;font:500 44px/1.35 system-ui,sans-serif">
      <div style="flex:none;width:440px">${sky}</div>
      <div><b style="font-size:84px;letter-spacing:-.01em">Chiron</b><br>The access service<br>of the veterinary school</div></div>`,
  },
]

const browser = await startBrowser()
try {
  for (const { name, width, height, body } of pictures) {
    const page = await browser.newPage({ viewport: { width, height } })
    await page.setContent(`<!doctype html><style>html,body{height:100%;margin:0}</style>${body}`)
    await page.screenshot({ path: `${assets}${name}.png`, omitBackground: true })
    await page.close()
  }
} finally {
  await browser.close()
}
