//! The IREE compiler through its embedding API.

use eerie_sys::compiler as sys;
use std::{
    ffi::{CStr, CString, c_char, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::{Mutex, PoisonError},
};

/// The compiler library, loaded and initialized. A process has one, for good: LLVM's global state
/// does not survive being set up twice.
pub(crate) struct Library {
    path: PathBuf,
    api: sys::IreeCompiler,
}

static LIBRARY: Mutex<Option<&'static Library>> = Mutex::new(None);

impl Library {
    /// The library at `path`, loaded now if it is not yet.
    pub(crate) fn load(path: &Path) -> Result<&'static Self, String> {
        let mut loaded = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = *loaded {
            if library.path == path {
                return Ok(library);
            }
            return Err(format!(
                "this process already uses {}",
                library.path.display()
            ));
        }
        // SAFETY: the manifest names an IREE compiler; the table is leaked, so that it outlives
        // everything made through it; global initialization happens once, under the lock.
        let library = unsafe {
            let api = sys::IreeCompiler::open(path).map_err(|error| error.to_string())?;
            api.ireeCompilerGlobalInitialize();
            &*Box::leak(Box::new(Self {
                path: path.to_owned(),
                api,
            }))
        };
        *loaded = Some(library);
        Ok(library)
    }

    /// Takes over an error of the API and makes it a result.
    fn check(&self, error: *mut sys::iree_compiler_error_t) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the error is live, its message belongs to it and is copied before it goes.
        unsafe {
            let message = CStr::from_ptr(self.api.ireeCompilerErrorGetMessage(error));
            let message = message.to_string_lossy().into_owned();
            self.api.ireeCompilerErrorDestroy(error);
            Err(message)
        }
    }
}

/// A set of flags to compile under, with an MLIR context of its own: sessions do not share state.
pub(crate) struct Session {
    library: &'static Library,
    session: *mut sys::iree_compiler_session_t,
}

impl Session {
    pub(crate) fn new(library: &'static Library, flags: &[String]) -> Result<Self, String> {
        let flags = flags
            .iter()
            .map(|flag| CString::new(flag.as_str()).map_err(|error| error.to_string()))
            .collect::<Result<Vec<_>, _>>()?;
        let arguments: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        // SAFETY: the library is initialized; flags are copied during the call.
        unsafe {
            let session = Self {
                library,
                session: library.api.ireeCompilerSessionCreate(),
            };
            library.check(library.api.ireeCompilerSessionSetFlags(
                session.session,
                arguments.len() as _,
                arguments.as_ptr(),
            ))?;
            Ok(session)
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: live and given up once; invocations borrow the session, so none is left.
        unsafe { self.library.api.ireeCompilerSessionDestroy(self.session) }
    }
}

/// One compilation.
pub(crate) struct Invocation<'a> {
    library: &'static Library,
    invocation: *mut sys::iree_compiler_invocation_t,
    session: &'a Session,
    /// Boxed: the compiler holds its address. Compiler threads report here.
    diagnostics: Box<Mutex<String>>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        unsafe extern "C" fn report(
            severity: sys::iree_compiler_diagnostic_severity_t,
            message: *const c_char,
            length: usize,
            diagnostics: *mut c_void,
        ) {
            // SAFETY: the compiler hands over the box registered below and its own live message.
            let (diagnostics, message) = unsafe {
                (
                    &*diagnostics.cast::<Mutex<String>>(),
                    std::slice::from_raw_parts(message.cast::<u8>(), length),
                )
            };
            let severity = match severity {
                sys::iree_compiler_diagnostic_severity_t_IREE_COMPILER_DIAGNOSTIC_SEVERITY_NOTE => "note",
                sys::iree_compiler_diagnostic_severity_t_IREE_COMPILER_DIAGNOSTIC_SEVERITY_WARNING => "warning",
                sys::iree_compiler_diagnostic_severity_t_IREE_COMPILER_DIAGNOSTIC_SEVERITY_ERROR => "error",
                _ => "remark",
            };
            let mut text = diagnostics.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(severity);
            text.push_str(": ");
            text.push_str(String::from_utf8_lossy(message).trim_end());
            text.push('\n');
        }

        let library = session.library;
        let diagnostics = Box::new(Mutex::new(String::new()));
        // SAFETY: the session is live; the diagnostics live as long as the invocation.
        let invocation = unsafe {
            let invocation = library.api.ireeCompilerInvocationCreate(session.session);
            library.api.ireeCompilerInvocationEnableCallbackDiagnostics(
                invocation,
                0,
                Some(report),
                ptr::from_ref(&*diagnostics).cast_mut().cast(),
            );
            invocation
        };
        Self {
            library,
            invocation,
            session,
            diagnostics,
        }
    }

    /// What the compiler has said so far.
    pub(crate) fn diagnostics(&self) -> String {
        self.diagnostics
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Reads module text; whether it is well formed.
    pub(crate) fn parse(&mut self, name: &CStr, text: &str) -> Result<bool, String> {
        let api = &self.library.api;
        let mut source = ptr::null_mut();
        // SAFETY: the text is not terminated, so it is copied; parsing is done before the source
        // is destroyed.
        unsafe {
            self.library.check(api.ireeCompilerSourceWrapBuffer(
                self.session.session,
                name.as_ptr(),
                text.as_ptr().cast(),
                text.len(),
                false,
                &mut source,
            ))?;
            let parsed = api.ireeCompilerInvocationParseSource(self.invocation, source);
            api.ireeCompilerSourceDestroy(source);
            Ok(parsed)
        }
    }

    /// Runs the whole pipeline; whether it succeeded.
    pub(crate) fn compile(&mut self) -> bool {
        let api = &self.library.api;
        // SAFETY: the invocation is live.
        unsafe {
            api.ireeCompilerInvocationSetVerifyIR(self.invocation, true);
            api.ireeCompilerInvocationPipeline(
                self.invocation,
                sys::iree_compiler_pipeline_t_IREE_COMPILER_PIPELINE_STD,
            )
        }
    }

    /// The compiled module.
    pub(crate) fn output(&mut self) -> Result<Vec<u8>, String> {
        let api = &self.library.api;
        let mut output = ptr::null_mut();
        // SAFETY: the output is destroyed on every path; its memory is copied before.
        unsafe {
            self.library
                .check(api.ireeCompilerOutputOpenMembuffer(&mut output))?;
            let written = self
                .library
                .check(api.ireeCompilerInvocationOutputVMBytecode(self.invocation, output))
                .and_then(|()| {
                    let (mut data, mut size) = (ptr::null_mut(), 0);
                    self.library
                        .check(api.ireeCompilerOutputMapMemory(output, &mut data, &mut size))?;
                    Ok(std::slice::from_raw_parts(data.cast::<u8>(), size as usize).to_vec())
                });
            api.ireeCompilerOutputDestroy(output);
            written
        }
    }
}

impl Drop for Invocation<'_> {
    fn drop(&mut self) {
        // SAFETY: live and given up once.
        unsafe {
            self.library
                .api
                .ireeCompilerInvocationDestroy(self.invocation)
        }
    }
}
