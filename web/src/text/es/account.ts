import type { AccountText } from '../en/account.ts'

export const accountText: AccountText = {
  profile: {
    confirmTitle: '¿Es este su nombre?',
    confirmLead:
      'Se indicó al registrar esta dirección. Cuando lo confirme, nuestros correos le saludarán con ese nombre.',
    confirmYes: 'Sí, es mi nombre',
    confirmNo: 'No, cambiarlo',
    confirmed: 'Gracias. Nuestros correos le saludarán con este nombre.',
    lead: 'Esto es lo que el servicio sabe de usted.',
    details: 'Sus datos',
    name: 'Nombre',
    since: 'Registrado el',
    edit: 'Cambiar mi nombre',
    save: 'Guardar',
    saved: 'Guardado.',
    publicPage: 'Su página pública',
    publicLead: 'Quien tenga este enlace verá su nombre y nada más.',
    lostByName:
      'La escuela ha verificado su identidad. Si cambia de nombre, tendrá que verificarla de nuevo y, hasta entonces, algunas aplicaciones no le dejan entrar.',
    notVerified: 'Aún sin verificar',
    publicUnverified:
      'Quien tenga este enlace verá su nombre y el aviso de que la escuela no ha comprobado su identidad. Pida a la escuela que la verifique.',
    open: 'Abrirla',
    share: 'Compartir',
    publicHidden: 'Oculta. Nadie puede verla.',
    hide: 'Ocultarla',
    show: 'Mostrarla',
  },

  publicProfile: {
    verified: 'Verificado por la escuela',
    verifiedNote: 'Veterinario. La escuela ha comprobado su identidad.',
    unverifiedNote:
      'La escuela no ha comprobado la identidad de esta persona. El nombre es el que ella misma indicó.',
    none: 'Veterinario no encontrado',
    noneLead:
      'No hay ningún veterinario en esta dirección. Es posible que el enlace contenga un error o que la cuenta esté cerrada.',
    toPortal: 'Ir a la página de inicio',
  },

  email: {
    change: 'Cambiar mi dirección',
    title: 'Cambiar mi dirección',
    now: (email) => `Su dirección es ${email}.`,
    field: 'Nueva dirección de correo',
    hint: 'Enviaremos allí un código para comprobar que tiene acceso a ella.',
    sent: (email) => `Estamos enviando un código a ${email}.`,
    lost: 'La escuela ha verificado su identidad. Si cambia de dirección, tendrá que verificarla de nuevo y, hasta entonces, algunas aplicaciones no le dejan entrar.',
    same: 'Esta ya es su dirección.',
    confirm: 'Cambiar mi dirección',
    fresh:
      'Hace tiempo que inició la sesión. Confirme primero su identidad con un código enviado a su dirección actual.',
    goOn: 'Continuar',
    done: (email) => `Su dirección es ahora ${email}. Se ha cerrado la sesión en los demás dispositivos.`,
    back: 'Volver a mi perfil',
  },

  sessions: {
    title: 'Dónde tiene la sesión abierta',
    lead: 'Si no reconoce un dispositivo, cierre su sesión.',
    here: 'aquí',
    lastUsed: (time) => `Último uso: ${time}`,
    since: (day) => `Sesión abierta el ${day}`,
    signOutThere: 'Cerrar sesión ahí',
    signedOutThere: (device) => `Se ha cerrado la sesión de ${device}.`,
    deviceOn: (program, system) => `${program} en ${system}`,
    unknownDevice: 'Dispositivo desconocido',
    everywhere: 'Cerrar sesión en todas partes',
    everywhereTitle: '¿Cerrar sesión en todas partes?',
    everywhereLead:
      'Se cierra la sesión en todos los dispositivos, también en este. Podrá volver a entrar con un código nuevo.',
  },

  data: {
    title: 'Mis datos',
    download: 'Descargar mis datos',
    downloadLead:
      'Todo lo que el servicio guarda sobre usted, en un archivo que pueden leer tanto usted como un programa.',
    downloaded: 'El archivo está en sus descargas.',
    close: 'Cerrar mi cuenta',
    closeLead: 'Se borran su cuenta y sus datos personales. No se puede deshacer.',
    closeOpen: 'Cerrar mi cuenta…',
    roster:
      'Los datos de los estudiantes vienen de la lista de la escuela. Para corregirlos, diríjase a la secretaría.',
  },

  close: {
    title: 'Cerrar mi cuenta',
    what: 'Si cierra su cuenta:',
    effects: [
      'se borran su nombre y su correo electrónico,',
      'desaparece su página pública,',
      'se cierra la sesión en todos los dispositivos,',
      'la cuenta no se puede recuperar, pero podrá registrarse de nuevo.',
    ],
    confirmLabel: (lastname) => `Para confirmar, escriba su apellido: ${lastname}`,
    mismatch: 'Ese no es su apellido.',
    submit: 'Cerrar mi cuenta para siempre',
    fresh:
      'Hace tiempo que inició la sesión. Confirme su identidad con un código nuevo; después se cerrará la cuenta.',
    keep: 'Conservar mi cuenta',
  },
}
