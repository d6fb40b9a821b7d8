/** A service and a browser for a suite of tests. */
import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { bulk } from './roster-school.ts'
import { rosterOf } from './roster-world.ts'
import { type Service, startService } from './service.ts'
import type { MailServer } from './smtp.ts'
import { studentSchool } from './student-school.ts'

let shared: Promise<Browser> | undefined
after(async () => (await shared)?.close())

/** Chromium takes longer to start than most tests, so all suites of a process share one. */
export function sharedBrowser(): Promise<Browser> {
  shared ??= startBrowser()
  return shared
}

/** `students` imports the school of `studentSchool`. */
export function portalOfSuite(
  use: (parts: { service: Service; browser: Browser }) => void,
  {
    env,
    students,
    mail,
  }: { env?: Record<string, string>; students?: readonly string[]; mail?: () => Promise<MailServer> } = {},
): void {
  let service: Service | undefined
  let own: MailServer | undefined
  before(async () => {
    own = await mail?.()
    service = await startService('sqlite', { ...(env && { env }), ...(own && { mail: own }) })
    if (students) await rosterOf(service).import(bulk(studentSchool(students)))
    use({ service, browser: await sharedBrowser() })
  })
  after(async () => {
    await service?.stop()
    await own?.close()
  })
}
