# The common part of aarch64-linux-gnu.cmake and x86_64-linux-gnu.cmake: builds with the libraries of an unpacked Debian 12, never with those of the
# machine that builds. They set PLUMB_ARCH (Debian's name) and CMAKE_SYSTEM_PROCESSOR (the kernel's).
#
# PLUMB_SYSROOT is made by deploy/sysroot. The compiler is Debian's gcc for that machine, or with PLUMB_CROSS_CLANG=ON clang.
# Where qemu-user is installed, tests run through it.
set(CMAKE_SYSTEM_NAME Linux)
set(PLUMB_TRIPLET ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(PLUMB_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-${PLUMB_ARCH} CACHE PATH "Unpacked Debian of the target")
option(PLUMB_CROSS_CLANG "Build with clang instead of gcc" OFF)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PLUMB_SYSROOT PLUMB_CROSS_CLANG)

if(NOT EXISTS ${PLUMB_SYSROOT}/usr/include)
    message(FATAL_ERROR "${PLUMB_SYSROOT} is no sysroot: deploy/sysroot ${PLUMB_ARCH} ${PLUMB_SYSROOT}")
endif()
get_filename_component(CMAKE_SYSROOT ${PLUMB_SYSROOT} ABSOLUTE)
if(PLUMB_CROSS_CLANG)
    set(CMAKE_C_COMPILER clang)
    set(CMAKE_C_COMPILER_TARGET ${PLUMB_TRIPLET})
else()
    set(CMAKE_C_COMPILER ${PLUMB_TRIPLET}-gcc)
endif()

# opt/plumb holds what deploy/images builds itself; it comes first.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/opt/plumb/lib/pkgconfig:${CMAKE_SYSROOT}/usr/lib/${PLUMB_TRIPLET}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

find_program(PLUMB_EMULATOR NAMES qemu-${CMAKE_SYSTEM_PROCESSOR} qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
if(PLUMB_EMULATOR AND NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL CMAKE_SYSTEM_PROCESSOR)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${PLUMB_EMULATOR} -L ${CMAKE_SYSROOT})
endif()
