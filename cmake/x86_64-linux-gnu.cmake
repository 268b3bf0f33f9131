# Builds for amd64 with Debian 12's libraries, not with those of the machine: deploy/images.
set(PLUMB_ARCH amd64)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
