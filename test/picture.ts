/** `npx node test/picture.ts`: takes the README's picture of the portal again, from the demo school. */
import { fileURLToPath } from 'node:url'
import { startBrowser } from './support/browser.ts'
import { endProcesses, newFolder, serveChild } from './support/child.ts'
import { askForCode, codeField, newVisitor } from './support/visitor.ts'
import { eventually } from './support/wait.ts'

const path = fileURLToPath(new URL('../docs/pictures/portal.png', import.meta.url))
const email = 'hannah.kohler@students.example.edu'
const size = { width: 1280, height: 900 }

const folder = newFolder()
const browser = await startBrowser()
try {
  const { port } = await serveChild({ cwd: folder.path })
  const base = `http://localhost:${port}`
  const page = await (await newVisitor(browser)).newPage()
  await page.setViewportSize(size)
  await page.goto(base)
  await askForCode(page, 'Student', email)
  const code = await eventually('the mail is there', async () => {
    const reply = await fetch(`${base}/mailbox.json?to=${email}`)
    const { mails } = (await reply.json()) as { mails: { code: number }[] }
    return mails[0]?.code
  })
  await codeField(page).fill(String(code))
  await page.getByRole('region', { name: /week$/ }).waitFor()
  await page.mouse.move(0, 0)
  await page.screenshot({ path, animations: 'disabled' })
} finally {
  await browser.close()
  endProcesses()
  folder.remove()
}
