// Asks now and then whether there is newer mail, and puts only what is new on top.
const list = document.querySelector('#mails')

async function update() {
  try {
    const reply = await fetch('/mailbox', { headers: { Accept: 'text/html' } })
    if (!reply.ok) return
    const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
    const fresh = [...page.querySelectorAll('.mail')].filter((mail) => !document.getElementById(mail.id))
    if (fresh.length > 0) document.querySelector('#none')?.remove()
    list.prepend(...fresh)
  } catch {
    // The service is restarting; the next round finds it.
  }
}

setInterval(update, 2000)
