import { Component, type ReactNode } from 'react'
import { send } from '../http.ts'
import { useWords } from '../text/text.ts'
import { useAction } from './action.ts'
import { Button } from './button.tsx'
import { ProblemNotice } from './notice.tsx'
import { Page } from './page.tsx'

/** Shows a message instead of a blank page when a component fails or part of the page did not load. */
export class Boundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }

  static getDerivedStateFromError() {
    return { broken: true }
  }

  override render() {
    return this.state.broken ? <Broken /> : this.props.children
  }
}

function Broken() {
  const { text } = useWords()
  // Reloading while the service is down would leave the reader with the browser's error page.
  const reloading = useAction(async () => {
    await send('/health/live')
    location.reload()
  })
  return (
    <Page title={text.broken.title} lead={text.broken.lead} narrow>
      {reloading.problem && <ProblemNotice problem={reloading.problem} />}
      <Button look="main" busy={reloading.busy} onPress={reloading.run}>
        {text.broken.reload}
      </Button>
    </Page>
  )
}
